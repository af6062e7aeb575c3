"""The version of the installed package, for which Python reads its metadata."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("structsvm-partitioning")
except PackageNotFoundError:  # a bare checkout
    __version__ = "0+unknown"
