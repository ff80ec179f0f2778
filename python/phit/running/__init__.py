"""Runs: single ones, points of sweeps, and searches for saturation, on this machine or on clusters."""
