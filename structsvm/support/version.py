"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("structsvm-partitioning")
except PackageNotFoundError:  # a bare checkout
    __version__ = "0+unknown"
