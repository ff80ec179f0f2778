"""The report: results as one self-contained HTML page.

Each section of the page is a module of `sections` with a template and, if it is interactive, a script in `assets`.
`sections.SECTIONS` lists them in their order, and `page` combines them.
"""

from phit.drawing.reporting.page import html, write
from phit.drawing.reporting.source import Source

__all__ = ["Source", "html", "write"]
