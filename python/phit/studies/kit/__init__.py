"""What studies are made of: nothing here knows a paper.

`study` says what a study is and how its figures and claims are registered. `scale` and `plan` are about the runs,
`tables`, `charts` and `evidence` about what is made of them, `claim` about verdicts. `reproduce` runs a study, and
`page` writes what came out.
"""
