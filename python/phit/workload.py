"""Programs of communicating ranks: read, written, converted and made.

Its code is in `phit.reading.workload`.
"""

from phit.reading.workload import ANY, Operation, Program, convert, info, kinds, make, notes, read

__all__ = ["ANY", "Operation", "Program", "convert", "info", "kinds", "make", "notes", "read"]
