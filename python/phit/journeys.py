"""Single packets on their way: the classes that `phit.trace_packet` returns.

Its code is in `phit.running.journeys`.
"""

from phit.running.journeys import WAITS, Journey, Visit, Wait, trace_packet

__all__ = ["WAITS", "Journey", "Visit", "Wait", "trace_packet"]
