"""Studies: what Phit is compared with, one folder each.

`validation` compares with other simulators, whose settings are in `phit.peers`. Every other folder reproduces a paper:
`registry` finds them, `kit` has their parts. A folder imports no other study.
"""
