"""The templates of the report. Every text put into a template is escaped, so a browser shows it literally."""

from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from phit.base.text import plain_lines


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        # A Markup is a string, too, but it is already escaped.
        finalize=lambda value: plain_lines(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: Any) -> Markup:
    """A template of this folder with values filled in."""
    return Markup(_environment().get_template(template).render(values))
