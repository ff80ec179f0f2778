"""The report: results as one HTML page that needs no network, to be read and passed on.

A section of the page is a module of `sections` with its template, and, if a reader can do something with it, a script
beside the others in `assets`. `sections.SECTIONS` lists them in their order; `page` puts them together.
"""

from phit.drawing.reporting.page import html, write
from phit.drawing.reporting.source import Source

__all__ = ["Source", "html", "write"]
