"""Files that a scenario names: networks, fabrics, traces and programs."""
