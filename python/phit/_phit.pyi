from collections.abc import Callable

__version__: str

class ScenarioError(ValueError):
    """A scenario that cannot be simulated: ``str(error)`` names key, value, expectation and nearest valid name."""

    path: str
    value: str | None
    expected: str
    nearest: str | None

def complete(scenario: str) -> str:
    """JSON of a scenario in, the same validated and with every default filled in out."""

def run(scenario: str, threads: int = 1, progress: Callable[[int, int], None] | None = None) -> str:
    """Runs the scenario given as JSON; returns JSON ``{"summary": {...}, "tables": {name: {column: [..]}}}``."""

def schema() -> str:
    """JSON Schema (draft 2020-12) of a scenario document."""

def catalogue() -> str:
    """JSON ``{concept: [{"kind": str, "description": str, "schema": {...}}]}``."""
