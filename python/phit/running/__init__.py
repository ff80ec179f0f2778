"""Runs: one, the points of a sweep, and searches for saturation, on whatever executes them."""
