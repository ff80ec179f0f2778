"""Modules that take long to import: each is imported on first use."""

from importlib import import_module
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """A placeholder for a module, which imports it when an attribute is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def lazily(name: str) -> Any:
    """The module `name`, imported when one of its attributes is first used."""
    return _Later(name)
