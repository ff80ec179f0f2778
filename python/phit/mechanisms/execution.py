"""Runs scenarios that name Python functions: checks consent, and reports exceptions of these functions."""

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import phit._phit as _phit
from phit.base.errors import InputError, SimulationError
from phit.mechanisms import is_trusted, refusal, source_of, tables
from phit.mechanisms.sources import Source

Progress = Callable[[int, int], None]


def ready(scenarios: Iterable[str], trusted: bool = False) -> list[Source]:
    """Compiles the functions that scenarios (JSON text) name, and returns their sources.

    Raises:
        InputError: a function may not be executed, or cannot be compiled, or numba is not installed.
    """
    found: dict[tuple[str, ...], tuple[str, Source]] = {}
    for scenario in scenarios:
        if '"python_' in scenario:
            for path, table in tables(json.loads(scenario)):
                source = source_of(path, table)
                found.setdefault((source.kind, source.function, *source.lines), (path, source))
    for path, source in found.values():
        if not trusted and not is_trusted(source.lines):
            raise refusal(path, source.function)
        try:
            from phit.mechanisms import compiled
        except ImportError as error:
            if error.name not in ("numba", "llvmlite"):
                raise
            words = "needs numba, which is not installed: pip install phit[numba]"
            raise InputError(f'{path}.function = "{source.function}": {words}', f"{path}.function") from None
        compiled.ensure(source, path)
    return [source for _, source in found.values()]


def run(
    scenario: str,
    *,
    threads: int = 1,
    progress: Progress | None = None,
    memory: int | None = None,
    trusted: bool = False,
) -> str:
    """Runs a scenario (JSON text) as `_phit.run` does, after compiling the functions that it names.

    Args:
        scenario: JSON text.
        threads: threads of the engine.
        progress: receives cycles done and planned, a few times a second.
        memory: bytes that the run may take.
        trusted: whether consent for the functions was already checked.

    Raises:
        InputError: a function may not be executed, or cannot be compiled.
        SimulationError: a function raised an exception, which the message names.
    """
    return _told(
        scenario, lambda tell: _phit.run(scenario, threads=threads, progress=tell, memory=memory), progress, trusted
    )


def trace_packets(
    scenario: str, source: int | str | None, number: int, count: int, *, progress: Progress | None = None
) -> str:
    """Follows packets as `_phit.trace_packets` does, after compiling the functions that a scenario names.

    Raises:
        InputError: a function may not be executed, or cannot be compiled.
        SimulationError: a function raised an exception, which the message names.
    """
    return _told(scenario, lambda tell: _phit.trace_packets(scenario, source, number, count, tell), progress)


def _told(
    scenario: str, ask: Callable[[Progress | None], str], progress: Progress | None, trusted: bool = False
) -> str:
    """Calls the engine with a progress callback that also raises exceptions of compiled functions."""
    sources = ready([scenario], trusted)
    if not sources:
        return ask(progress)
    with _raised(sources) as look:

        def tell(done: int, planned: int) -> None:
            look()
            if progress is not None:
                progress(done, planned)

        answer = ask(tell)
        look()
    return answer


_lock = threading.Lock()
_watching: list[list[BaseException]] = []
_before: Any = None


@contextmanager
def _raised(sources: Sequence[Source] = ()) -> Iterator[Callable[[], None]]:
    """Collects exceptions of compiled functions; yields a function that raises the first again, in this thread.

    A C function cannot raise: numba passes its exceptions to `sys.unraisablehook`. Concurrent runs all receive each
    exception.
    """
    global _before
    heard: list[BaseException] = []
    with _lock:
        if not _watching:
            _before, sys.unraisablehook = sys.unraisablehook, _hear
        _watching.append(heard)

    def look() -> None:
        if heard:
            error = heard[0]
            raise SimulationError(
                f"a Python mechanism raised {type(error).__name__}: {error} ({_where(error, sources)})"
            ) from None

    try:
        yield look
    finally:
        with _lock:
            _watching[:] = [other for other in _watching if other is not heard]
            if not _watching:
                sys.unraisablehook = _before


def _where(error: BaseException, sources: Sequence[Source]) -> str:
    """The user's line that raised an error, or the candidate functions if numba does not tell."""
    files = {file for source in sources for file, _ in source.statements}
    place, at = "", error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename in files:
            place = f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}"
        at = at.tb_next
    return place or f"in {' or '.join(dict.fromkeys(f'{one.function}, {one.place}' for one in sources))}"


def _hear(unraisable: Any) -> None:
    if isinstance(unraisable.object, str) and "numba" in unraisable.object and unraisable.exc_value is not None:
        for heard in _watching:
            if not heard:
                heard.append(unraisable.exc_value)
    else:
        _before(unraisable)
