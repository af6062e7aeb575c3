"""Partitions of trees into connected parts: a problem and its oracle for structsvm."""

from structsvm_tree.oracle import TreeOracle
from structsvm_tree.problem import TreeParts

__all__ = ["TreeOracle", "TreeParts"]
