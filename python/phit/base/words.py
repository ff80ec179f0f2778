"""Names of routers, endpoints and ports in text: their own, or their numbers if they have none.

The engine's messages follow the same rule (`topology/names.rs`).
"""

MARKS = (" ", "'", '"', ",")
"""Characters that make a name look like several words."""


def shown(name: str) -> str:
    """A name as part of a sentence, in quotation marks if it could be read as several words or as a number."""
    one_word = not name.isdecimal() and not any(mark in name for mark in MARKS)
    return name if one_word else f"'{name}'"


def router(number: int, name: str | None = None) -> str:
    """`router 3`, or `router leaf3`."""
    return f"router {number if name is None else shown(name)}"


def endpoint(number: int, name: str | None = None) -> str:
    """`endpoint 12`, or `endpoint host12`."""
    return f"endpoint {f'{number:,}' if name is None else shown(name)}"


def port_alone(number: int, name: str | None = None) -> str:
    """The name of a port without its router. Ports without a name are numbered, in every network."""
    return str(number) if name is None else name if name.isdecimal() else shown(name)


def port(router_number: int, number: int, router_name: str | None = None, port_name: str | None = None) -> str:
    """`router 3 port 7`, or `leaf3 port 7`."""
    there = f"router {router_number}" if router_name is None else shown(router_name)
    return f"{there} port {port_alone(number, port_name)}"
