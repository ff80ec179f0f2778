"""`python -m phit` and the command `phit`."""

import gc
import sys


def main() -> int:
    """Runs the command line.

    The import is inside, because the processes of a sweep import this module, too.
    """
    # Most objects are imported modules, which stay. Searching them for garbage takes a sixth of the start-up time.
    gc.set_threshold(100_000)
    from phit.cli import main

    try:
        return main()
    finally:
        # All objects go with the process: a last search for garbage would be wasted.
        gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
