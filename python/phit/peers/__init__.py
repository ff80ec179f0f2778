"""Other simulators: their settings as Phit scenarios, and the comparison of their numbers with Phit's."""
