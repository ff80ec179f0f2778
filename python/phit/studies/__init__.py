"""Studies: what Phit is compared with, one folder each.

`validation` compares with other simulators, whose settings are in `peers`. Every other folder reproduces a paper:
`registry` finds them, `kit` is what they are made of. A folder imports itself, `kit` and `peers` alone.
"""
