"""Files: written whole or not at all, and read with safeguards against links, pipes and devices."""

import io
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader, FileIO, TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING

from phit.base import system
from phit.base.errors import ResultsError

if TYPE_CHECKING:
    import polars as pl

NAME = re.compile(r"[^\W_][\w .,;+=~()\[\]{}&%@!^-]*")
"""Names of folders and files that a document may give: one step of a path, without hidden characters."""

LONGEST_NAME = 100
"""Maximum number of characters of a name."""


def is_name(name: str) -> bool:
    """Whether this can be the name of a folder: one step down the path, neither up nor elsewhere."""
    return len(name) <= LONGEST_NAME and NAME.fullmatch(name) is not None and name == name.rstrip(" .")


def name_of(text: str) -> str:
    """A file name made from a text: characters that a file name cannot have become underscores."""
    return re.sub(r"[^\w.+=,-]", "_", text)[:LONGEST_NAME].lstrip(".") or "_"


def write_atomically(path: Path, write: Callable[[IO[bytes]], object], *, synced: bool = True) -> None:
    """Writes a file so that a reader always finds the old or the new content, whole.

    `synced`: also holds if the machine goes down, not only this process. This takes about a millisecond.
    """
    try:
        _write_atomically(path, write, synced)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written ({error.strerror})") from None


def _write_atomically(path: Path, write: Callable[[IO[bytes]], object], synced: bool) -> None:
    handle, name = _beside(path)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            if synced:
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if synced:
        system.sync(path.parent)


def write_together(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Writes files of a folder, by name, as atomically as `write_atomically`, and syncs them concurrently."""
    name = ""
    made: dict[str, str] = {}
    try:
        for name, content in contents.items():
            handle, made[name] = _beside(folder / name)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
        failed: list[OSError] = []

        def sync(path: str) -> None:
            try:
                system.sync(path)
            except OSError as error:
                failed.append(error)

        threads = [threading.Thread(target=sync, args=(path,)) for path in made.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in failed:
            raise error
        for name in contents:
            os.replace(made[name], folder / name)
            del made[name]
        system.sync(folder)
    except OSError as error:
        raise ResultsError(f"{folder / name}: cannot be written ({error.strerror})") from None
    finally:
        for path in made.values():
            Path(path).unlink(missing_ok=True)


def _beside(path: Path) -> tuple[int, str]:
    """Creates a file beside a path, open for writing, with the default permissions."""
    flags = os.O_WRONLY | system.NEW_ONLY | system.BINARY
    while True:
        name = f"{path.parent}/.{path.name}.{os.urandom(4).hex()}.tmp"
        with suppress(FileExistsError):
            return os.open(name, flags, 0o666), name


def write_text(path: Path, text: str) -> Path:
    """Writes a text atomically and returns its path."""
    write_atomically(path, lambda file: file.write(text.encode(errors="backslashreplace")))
    return path


LEFTOVER = re.compile(r"\..+\.(json|parquet|csv|md|svg|png|html)\.\w{8}\.tmp")
"""Temporary files whose writer was killed."""


def remove_leftovers(folder: Path) -> None:
    """Deletes the temporary files of killed writers in a folder."""
    for path in folder.iterdir():
        if LEFTOVER.fullmatch(path.name) and not path.is_symlink() and path.is_file():
            path.unlink(missing_ok=True)


def write_parquet(path: Path, frame: "pl.DataFrame") -> None:
    """Writes a table atomically."""
    write_atomically(path, lambda file: file.write(parquet(frame)))


def parquet(frame: "pl.DataFrame") -> bytes:
    """A table as the content of a Parquet file."""
    # Written in memory first: on a full disk polars raises many kinds of errors.
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


def read_bytes(path: Path) -> bytes:
    """The content of a regular file. Links, pipes and devices are refused: nobody knows where they lead, or end."""
    handle = os.open(path, os.O_RDONLY | system.NO_LINK | system.WITHOUT_WAITING | system.BINARY)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "not a regular file", str(path))
        return file.read()


def opened_bytes(path: Path) -> BufferedReader:
    """A file opened for reading, wherever its links lead. Pipes and devices are refused: they may never end."""
    handle = os.open(path, os.O_RDONLY | system.WITHOUT_WAITING | system.BINARY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "not a regular file", str(path))
    return BufferedReader(FileIO(handle))


FOREIGN = {
    b"\x1f\x8b": "compressed by gzip: decompress it first",
    b"\xfd7zXZ\x00": "compressed by xz: decompress it first",
    b"BZh": "compressed by bzip2: decompress it first",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: decompress it first",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"%PDF-": "a PDF document",
    b"\xff\xfe": "text in UTF-16: save it as UTF-8 first",
    b"\xfe\xff": "text in UTF-16: save it as UTF-8 first",
}
"""First bytes of files that are no text in UTF-8, and what such a file is."""


def foreign(start: bytes) -> str | None:
    """What a file with these first bytes is, if it is known to be no text in UTF-8."""
    return next((words for mark, words in FOREIGN.items() if start.startswith(mark)), None)


def opened(
    path: Path, *, encoding: str = "utf-8-sig", newline: str | None = None, errors: str | None = None
) -> TextIOWrapper:
    """A text file opened for reading, wherever its links lead. Pipes and devices are refused.

    A mark of UTF-8 in front, as programs on Windows write it, is left out.

    Raises:
        OSError: there is no such file, or it is no text in UTF-8, by its first bytes.
    """
    file = opened_bytes(path)
    if why := foreign(file.peek(8)):
        file.close()
        raise OSError(0, why, str(path))
    return TextIOWrapper(file, encoding=encoding, newline=newline, errors=errors)


def read_parquet(path: Path) -> "pl.DataFrame":
    """A table from a Parquet file.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: the file is no Parquet file, or is damaged, whatever the reader raises.
    """
    import polars as pl

    if not path.exists():
        raise FileNotFoundError(path)
    if not path.is_file():
        raise OSError(0, "not a regular file", str(path))
    try:
        with _silent():
            return pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise OSError(0, " ".join(str(error).split()) or type(error).__name__, str(path)) from None


@contextmanager
def _silent() -> Iterator[None]:
    """Silences standard error: a library that panics writes there before it raises."""
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
