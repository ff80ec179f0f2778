"""OutFlank routing on tori (F. Versaci, ICPADS 2013): tables 2 and 3, figures 4 and 5, and what lies beyond them."""

from phit.studies.outflank.paper import study

__all__ = ["study"]
