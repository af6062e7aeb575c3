"""The command ``structsvm``, also ``python -m structsvm``."""

from structsvm.cli.app import main

__all__ = ["main"]
