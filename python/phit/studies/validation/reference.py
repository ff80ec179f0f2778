"""Reads the tables of other simulators."""

from phit.peers.reference import FOLDER, Row, rows

__all__ = ["FOLDER", "Row", "rows"]
