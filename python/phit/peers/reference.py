"""Tables of other simulators' runs, in a checkout of the project."""

import csv
from pathlib import Path

from phit.base.errors import InputError

Row = dict[str, str]

FOLDER = Path("tests") / "reference"
"""The folder of the tables in a checkout."""

CHECKOUT = Path(__file__).resolve().parents[3] / FOLDER
"""The folder of the tables in the checkout that this package runs from.

It does not exist if the package was installed elsewhere.
"""


def rows(folder: Path, name: str) -> list[Row]:
    """The rows of one table."""
    path = folder / name
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        reason = f"cannot be read ({error.strerror}); run this in a checkout of the project, or give --reference DIR"
        raise InputError(f"{path}: {reason}") from None
