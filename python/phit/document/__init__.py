"""Scenarios and experiments as documents: read, changed, completed, described."""
