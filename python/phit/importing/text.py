"""Reads files of other simulators."""

from pathlib import Path

from phit.base.errors import InputError
from phit.base.files import foreign

LARGEST = 16 << 20
"""Maximum number of bytes of an imported file."""


def text_of(path: Path) -> str:
    """The text of a file. Bytes that are not UTF-8 are replaced; they can only be in comments."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if len(content) > LARGEST:
        raise InputError(f"{path}: expected a file of at most {LARGEST >> 20} MiB")
    if why := foreign(content):
        raise InputError(f"{path}: cannot be read ({why})")
    return content.decode("utf-8", errors="replace")
