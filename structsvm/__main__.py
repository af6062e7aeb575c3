"""``python -m structsvm`` is the command ``structsvm``."""

import sys

from structsvm.cli import main

if __name__ == "__main__":
    sys.exit(main())
