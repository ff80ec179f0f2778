"""Makes every picture of the guide a link to itself: it is whole on a narrow screen, and opens at its full size."""

import re
from typing import Any

PICTURE = re.compile(r'<p>(<img [^>]*?src="([^"]+)"[^>]*/?>)</p>')


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs with the content of each page."""
    return PICTURE.sub(r'<p><a class="picture" href="\2">\1</a></p>', html)
