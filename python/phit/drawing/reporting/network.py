"""Data for sections that show the network: tables of ports, packed so that a page can hold those of many runs."""

import base64
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from phit.base import words
from phit.base.text import plain

ENDPOINT = -1
"""Replaces the router at the other end of a link to an endpoint."""


def packed(values: npt.ArrayLike, kind: str) -> str:
    """Numbers as base64 of their bytes in little-endian order; `kind` is one of u1, u2, u4, i4."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()).decode()


def ports_of(links: pl.DataFrame) -> dict[str, Any]:
    """The links of one run in the order of its table: router, port, class, and the router at the other end."""
    classes = links["class"].unique(maintain_order=True).to_list()
    far = links["to"].str.extract(r"^router (\d+)$", 1).cast(pl.Int64).fill_null(ENDPOINT)
    number = links["class"].replace_strict(classes, list(range(len(classes))), return_dtype=pl.Int64)
    return {
        "count": links.height,
        "classes": classes,
        "router": packed(links["router"].to_numpy(), "u4"),
        "port": packed(links["port"].to_numpy(), "u2"),
        "class": packed(number.to_numpy(), "u1"),
        "to": packed(far.to_numpy(), "i4"),
        "names": names_of(links),
        "ends": _ends(links),
    }


def names_of(rows: pl.DataFrame) -> dict[str, dict[str, str]]:
    """Names of routers by number, and names of ports by router and port; empty if they have no names."""
    found: dict[str, dict[str, str]] = {"routers": {}, "ports": {}}
    if "router_name" in rows.columns:
        known = rows.select("router", "router_name").unique().drop_nulls()
        found["routers"] = {str(router): words.shown(plain(name)) for router, name in known.iter_rows()}
    if "port_name" in rows.columns:
        known = rows.select("router", "port", "port_name").unique().drop_nulls()
        found["ports"] = {
            f"{router}.{port}": words.port_alone(port, plain(name)) for router, port, name in known.iter_rows()
        }
    return found


def _ends(links: pl.DataFrame) -> list[str]:
    """Names of the endpoints at the far ends of their links, in the order of links; empty without names."""
    if "to_name" not in links.columns:
        return []
    own = links.filter(pl.col("to").str.starts_with("endpoint"))["to_name"]
    return [words.shown(plain(name)) for name in own if name is not None] if not own.has_nulls() else []
