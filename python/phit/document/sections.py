"""The sections of an experiment that are the package's own, and the JSON Schema of a whole document.

The engine describes the sections of a scenario. What it does not know is declared here, once: `[sweep]`, `[plot]` and
`[cluster]`, and the files that a scenario may name. From these declarations follow the schema, `phit list`, the model
reference and the refusal of unknown keys.
"""

from typing import Any

Schema = dict[str, Any]

REFERENCE = "$schema"
"""A key with which a document names its schema, for editors; it means nothing to a run."""

SECTIONS: dict[str, Schema] = {
    "sweep": {
        "description": "`[sweep]`: the points of an experiment. Every curve is combined with every group of zipped "
        "keys, with the product and with every seed.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {
                "description": "Name of the experiment; by default that of the file.",
                "type": "string",
                "minLength": 1,
            },
            "seeds": {
                "description": "Seeds of every point: a number of them, counted from 1, or a list.",
                "anyOf": [
                    {"type": "integer", "minimum": 1},
                    {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
                ],
            },
            "product": {
                "description": "Every combination of these keys: of each, by its dotted path, a list or a range.",
                "$ref": "#/$defs/sweep_keys",
            },
            "zip": {
                "description": "Groups of keys that change together: first values with first, second with second.",
                "type": "array",
                "items": {"$ref": "#/$defs/sweep_keys"},
            },
            "curves": {
                "description": "One after another: keys with one value each, and keys with a list or a range, every "
                "combination of which is taken.",
                "type": "array",
                "items": {"$ref": "#/$defs/sweep_curve"},
            },
        },
    },
    "plot": {
        "description": "`[plot]`: how the curves of an experiment are drawn, by columns of the table of points.",
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
                "description": 'Longest time of a job, as "2h" or "90m". A job that is ended there is submitted '
                "again with what it has not finished.",
                "type": "string",
                "default": "1h",
            },
            "memory": {"description": 'Memory of a job, as "4GB"; by default the cluster\'s own.', "type": "string"},
            "batch": {
                "description": "About how long a job lasts: so many points are put into one.",
                "type": "string",
                "default": "5m",
            },
            "jobs": {
                "description": "Most jobs that run at a time.",
                "type": "integer",
                "minimum": 1,
                "default": 256,
            },
        },
    },
}
"""The sections besides those of the engine, as JSON Schemas."""

APART = ("plot", "cluster")
"""Those of them that say nothing about a run: they may stand in a scenario, and are left out of it."""


def leave_out(document: dict[str, Any]) -> None:
    """Leaves out of a scenario what says nothing about its run."""
    for name in APART:
        document.pop(name, None)


def keys_of(section: str) -> tuple[str, ...]:
    """The names of the keys of a section of `SECTIONS`."""
    return tuple(SECTIONS[section]["properties"])
