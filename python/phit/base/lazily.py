"""Modules that take long to import, for those who may do without them: each is imported when it is first used."""

from importlib import import_module
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """Stands for a module, and hands on what is asked of it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def lazily(name: str) -> Any:
    """The module of that name, imported when something of it is first used."""
    return _Later(name)
