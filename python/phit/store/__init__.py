"""Results: the answer of a run, and the folders that store answers."""
