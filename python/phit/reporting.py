"""Reports: results as one HTML page that needs no network.

Its code is in `phit.drawing.reporting`.
"""

from phit.drawing.reporting import Source, html, write

__all__ = ["Source", "html", "write"]
