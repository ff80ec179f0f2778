"""`python -m phit`."""

import sys

from phit.cli import main

if __name__ == "__main__":
    sys.exit(main())
