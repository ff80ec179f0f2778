"""Time-lapses: how full every port is over time, as one SVG that moves by itself.

Its code is in `phit.drawing.timelapse`.
"""

from phit.drawing.timelapse import Timelapse, of_probes, port_frames

__all__ = ["Timelapse", "of_probes", "port_frames"]
