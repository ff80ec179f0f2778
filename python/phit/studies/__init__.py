"""Studies: what Phit is compared with, one folder each."""
