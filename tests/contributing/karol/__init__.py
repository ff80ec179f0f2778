"""Input versus output queueing on a space-division packet switch (Karol, Hluchyj and Morgan, 1987).

* `saturation`: table I
"""

from . import saturation
from .paper import study

__all__ = ["study"]

study.consists_of(saturation)
