"""Traces: messages from files, block I/O as messages, and a generator of bursty I/O.

Its code is in `phit.reading.traces`.
"""

from phit.reading.traces import (
    REQUEST_BYTES,
    UNITS,
    Io,
    Message,
    Skipped,
    block_io_messages,
    bursty,
    inline,
    read,
    write,
)

__all__ = [
    "REQUEST_BYTES",
    "UNITS",
    "Io",
    "Message",
    "Skipped",
    "block_io_messages",
    "bursty",
    "inline",
    "read",
    "write",
]
