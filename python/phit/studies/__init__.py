"""Studies: what Phit is compared with, one folder each.

`validation` compares with other simulators. The others reproduce papers; they are listed in `registry`, run by
`reproduce` and share the modules of this folder: `plan` (the runs of a figure), `tables`, `figures`, `claims`, `page`.
"""
