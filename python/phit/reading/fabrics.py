"""What a scenario says of an InfiniBand fabric that is read from files."""

from typing import Any

INFINIBAND = "infiniband"
"""As `topology.kind` a fabric, as `routing.kind` the tables that it has."""

KEYS: dict[str, dict[str, Any]] = {
    "file": {
        "type": "string",
        "description": "What `ibnetdiscover` prints, or `ibnetdiscover -f`; found from the scenario's folder.",
    },
    "tables": {
        "type": "string",
        "description": 'Forwarding tables for `routing.kind = "infiniband"`: what `dump_fts` '
        "prints, or `opensm-lfts.dump`.",
    },
    "service_levels": {
        "type": "string",
        "description": "Service levels of all pairs of ports, from path records: a CSV "
        "file with the columns source, destination (LIDs) and sl. Without it all are 0.",
    },
    "virtual_lanes": {
        "type": "string",
        "description": "SL-to-VL tables: `opensm-sl2vl.dump`. Without it the virtual lane is the service level.",
    },
    "rate": {
        "type": "string",
        "description": "Width and speed of links for which the file says neither, such as 4xHDR.",
    },
    "group": {
        "type": "integer",
        "minimum": 1,
        "default": 1,
        "description": "Switches of a group, for what speaks of groups: consecutive ones.",
    },
    "faults": {
        "anyOf": [{"$ref": "#/$defs/Faults"}, {"type": "null"}],
        "description": "Links, switches and ports of adapters that do not work, by their names.",
    },
}
"""The keys of `[topology]` besides `kind`, as JSON Schemas."""

LID: dict[str, Any] = {
    "type": "integer",
    "minimum": 0,
    "default": 0,
    "description": "Which LID of an endpoint packets are sent to, counted from its first: 0 where it has one.",
}
"""The key of `[routing]` besides `kind`."""

DESCRIPTIONS = {
    "topology": "An InfiniBand fabric, from what `ibnetdiscover` prints: switches become routers, connected ports of "
    "channel adapters endpoints, and widths and speeds bandwidths. It is a graph with all that a graph can do.",
    "routing": "The forwarding tables of an InfiniBand fabric (`topology.tables`), with its service levels and virtual "
    "lanes: its packets go as the subnet manager has it.",
}
"""What is said of both kinds."""
