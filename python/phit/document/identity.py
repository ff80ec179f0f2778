"""Identities of scenarios: a canonical text and a hash, equal for equal scenarios."""

import json
from typing import Any

import phit._phit as _phit


def canonical(document: Any) -> str:
    """JSON text that equal documents share."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def engine_version(version: str = _phit.__version__) -> str:
    """The part of a version within which results do not change: `1` of 1.2.3, `0.2` of 0.2.3."""
    major, minor, *_ = version.split(".")
    return major if major != "0" else f"0.{minor}"


def hashed(text: str) -> str:
    """The hash of a text: 32 hexadecimal digits."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:32]
