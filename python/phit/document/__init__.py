"""Scenarios and experiments as documents: read, changed, completed and described."""

import os
from collections.abc import Mapping
from typing import Any

Document = dict[str, Any]
"""A scenario or experiment as read from TOML or JSON."""

Source = str | os.PathLike[str] | Mapping[str, Any]
"""A scenario or experiment: the path of a TOML or JSON file, or the document itself."""
