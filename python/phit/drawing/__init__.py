"""Presentation of results: plots, tables, tracks, time-lapses, reports and hints."""
