"""`python -m phit` and the command `phit`."""

import gc
import sys


def main() -> int:
    """Runs the command line. It is imported here, because the processes of a sweep import this module, too."""
    # Most objects are what is imported, which stays: to look for garbage among them takes a sixth of the start.
    gc.set_threshold(100_000)
    from phit.cli import main

    try:
        return main()
    finally:
        # At the end all of it goes with the process.
        gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
