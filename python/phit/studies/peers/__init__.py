"""Other simulators: their settings in Phit's words, for studies whose papers used them and for the comparison."""
