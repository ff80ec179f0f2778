"""Reads the tables of other simulators."""

from phit.studies.peers.reference import FOLDER, Row, rows

__all__ = ["FOLDER", "Row", "rows"]
