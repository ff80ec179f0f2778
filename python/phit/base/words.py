"""How text speaks of routers, endpoints and ports: by their names, or by their numbers where they have none.

The engine speaks the same way of them in what it says itself (`topology/names.rs`).
"""

MARKS = (" ", "'", '"', ",")
"""What makes a name look like several words."""


def shown(name: str) -> str:
    """A name as a part of a sentence: in quotation marks if it could be taken for several words or for a number."""
    one_word = not name.isdecimal() and not any(mark in name for mark in MARKS)
    return name if one_word else f"'{name}'"


def router(number: int, name: str | None = None) -> str:
    """`router 3`, or `router leaf3`."""
    return f"router {number if name is None else shown(name)}"


def endpoint(number: int, name: str | None = None) -> str:
    """`endpoint 12`, or `endpoint host12`."""
    return f"endpoint {f'{number:,}' if name is None else shown(name)}"


def port_alone(number: int, name: str | None = None) -> str:
    """What a port is called, without its router: ports are numbered wherever they stand."""
    return str(number) if name is None else name if name.isdecimal() else shown(name)


def port(router_number: int, number: int, router_name: str | None = None, port_name: str | None = None) -> str:
    """`router 3 port 7`, or `leaf3 port 7`."""
    there = f"router {router_number}" if router_name is None else shown(router_name)
    return f"{there} port {port_alone(number, port_name)}"
