"""The sections that the package itself adds to a document: `[sweep]`, `[plot]` and `[cluster]`.

The engine describes the sections of a scenario. Sections and files that the engine does not know are declared here,
once. The schema, `phit list`, the model reference and the refusal of unknown keys follow from these declarations.
"""

from typing import Any

Schema = dict[str, Any]

REFERENCE = "$schema"
"""A key by which editors find the schema of a document; runs ignore it."""

SECTIONS: dict[str, Schema] = {
    "sweep": {
        "description": "`[sweep]`: the points of an experiment. Every curve is combined with every group of zipped "
        "keys, with the product and with every seed.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {
                "description": "Name of the experiment; by default the name of the file.",
                "type": "string",
                "minLength": 1,
            },
            "seeds": {
                "description": "Seeds of every point: how many, counted from 1, or a list.",
                "anyOf": [
                    {"type": "integer", "minimum": 1},
                    {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
                ],
            },
            "product": {
                "description": "Keys by dotted path, each with a list or a range: every combination is a point.",
                "$ref": "#/$defs/sweep_keys",
            },
            "zip": {
                "description": "Groups of keys that change together: the first values make one point, "
                "the second values the next.",
                "type": "array",
                "items": {"$ref": "#/$defs/sweep_keys"},
            },
            "curves": {
                "description": "One table for each curve: keys with one value, and keys with a list or a range, every "
                "combination of which is taken.",
                "type": "array",
                "items": {"$ref": "#/$defs/sweep_curve"},
            },
        },
    },
    "plot": {
        "description": "`[plot]`: how to draw the curves of an experiment. Columns are those of the table of points.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "x": {"description": "Column of the horizontal axis; by default the offered load.", "type": "string"},
            "y": {
                "description": "Column of the vertical axis; by default latency and accepted load.",
                "type": "string",
            },
            "colour": {
                "description": "Column that tells curves apart; by default routing and whatever else is swept.",
                "type": "string",
            },
            "facet": {"description": "Column with a panel for each value; by default the pattern.", "type": "string"},
            "log": {"description": "Whether both axes are logarithmic.", "type": "boolean", "default": False},
            "title": {"description": "Title of every plot; by default the experiment's name.", "type": "string"},
        },
    },
    "cluster": {
        "description": "`[cluster]`: what `--executor slurm` asks of the cluster. Results do not depend on it.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "partition": {"description": "Partition of the jobs; by default the cluster's own.", "type": "string"},
            "account": {"description": "Account that is charged; by default the user's own.", "type": "string"},
            "time": {
                "description": 'Longest time of a job, as "2h" or "90m". A job that reaches it is submitted '
                "again with the points that it has not finished.",
                "type": "string",
                "default": "1h",
            },
            "memory": {"description": 'Memory of a job, as "4GB"; by default the cluster\'s own.', "type": "string"},
            "batch": {
                "description": "Intended duration of a job, which sets how many points it gets.",
                "type": "string",
                "default": "5m",
            },
            "jobs": {
                "description": "Maximum number of jobs at a time.",
                "type": "integer",
                "minimum": 1,
                "default": 256,
            },
        },
    },
}
"""The sections besides the engine's, as JSON Schemas."""

APART = ("plot", "cluster")
"""Sections that do not change a run: a scenario may have them, and the engine does not get them."""


def leave_out(document: dict[str, Any]) -> None:
    """Removes from a scenario the sections that do not change a run."""
    for name in APART:
        document.pop(name, None)


def keys_of(section: str) -> tuple[str, ...]:
    """The names of the keys of a section in `SECTIONS`."""
    return tuple(SECTIONS[section]["properties"])
