"""Other simulators: their settings in Phit's words, and the comparison of their numbers with Phit's."""
