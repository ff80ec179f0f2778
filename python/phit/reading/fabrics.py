"""Keys and descriptions of InfiniBand fabrics that a scenario reads from files."""

from typing import Any

INFINIBAND = "infiniband"
"""As `topology.kind`, a fabric; as `routing.kind`, the fabric's own forwarding tables."""

KEYS: dict[str, dict[str, Any]] = {
    "file": {
        "type": "string",
        "description": "Output of `ibnetdiscover` or `ibnetdiscover -f`; found from the scenario's folder.",
    },
    "tables": {
        "type": "string",
        "description": 'Forwarding tables for `routing.kind = "infiniband"`: output of `dump_fts`, '
        "or `opensm-lfts.dump`.",
    },
    "service_levels": {
        "type": "string",
        "description": "Service levels of all pairs of ports, from path records: a CSV "
        "file with the columns source, destination (LIDs) and sl. Without the file, all are 0.",
    },
    "virtual_lanes": {
        "type": "string",
        "description": "SL-to-VL tables: `opensm-sl2vl.dump`. Without the file, the virtual lane is the service level.",
    },
    "rate": {
        "type": "string",
        "description": "Width and speed, such as 4xHDR, of links for which the file gives neither.",
    },
    "group": {
        "type": "integer",
        "minimum": 1,
        "default": 1,
        "description": "Number of consecutive switches that form a group, for mechanisms and patterns that use groups.",
    },
    "faults": {
        "anyOf": [{"$ref": "#/$defs/Faults"}, {"type": "null"}],
        "description": "Failed links, switches and adapter ports, by name.",
    },
}
"""The keys of `[topology]` besides `kind`, as JSON Schemas."""

LID: dict[str, Any] = {
    "type": "integer",
    "minimum": 0,
    "default": 0,
    "description": "The LID of an endpoint to which packets are sent, counted from its first LID; 0 if it has one.",
}
"""The key of `[routing]` besides `kind`."""

DESCRIPTIONS = {
    "topology": "An InfiniBand fabric, from the output of `ibnetdiscover`. Switches become routers, connected ports of "
    "channel adapters become endpoints, and widths and speeds become bandwidths. All options of graphs apply.",
    "routing": "The forwarding tables of an InfiniBand fabric (`topology.tables`), with its service levels and "
    "virtual lanes: packets take the subnet manager's routes.",
}
"""Descriptions of both kinds."""
