"""Segmentation of circular sequences: a problem and its oracle for structsvm."""

from structsvm_circular.oracle import CircularOracle
from structsvm_circular.problem import Circular

__all__ = ["Circular", "CircularOracle"]
