"""Results: what a run answers, and the folders that keep it."""
