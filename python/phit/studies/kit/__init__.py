"""The parts of studies that belong to no paper.

`study` defines a study, and registers its figures and claims. `scale` and `plan` determine the runs. `tables`, `charts`
and `evidence` use their results, and `claim` gives verdicts. `reproduce` runs a study, and `page` writes its page.
"""
