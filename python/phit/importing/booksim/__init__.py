"""BookSim 2: its configurations as scenarios, and its printed output."""

from phit.importing.booksim.printed import printed
from phit.importing.booksim.scenario import NAME, of_settings, read

__all__ = ["NAME", "of_settings", "printed", "read"]
