"""`python -m phit` and the command `phit`."""

import sys


def main() -> int:
    """Runs the command line. It is imported here, because the processes of a sweep import this module, too."""
    from phit.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
