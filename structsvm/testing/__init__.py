"""Conformance kit: what a plugin promises, checked.

Write one test for each oracle and for each problem of your own::

    from structsvm.testing import check_oracle, check_problem

    def test_my_oracle():
        check_oracle(MyOracle(), contiguous=True)

    def test_my_problem():
        check_problem(MyProblem(), Xs, ys)

``all_partitions`` and ``all_segmentations`` list the partitions of a few items, from which the
family of an oracle is made up.
"""

from structsvm.oracles.exhaustive import all_partitions, all_segmentations
from structsvm.testing.oracle import check_oracle
from structsvm.testing.problem import check_problem

__all__ = ["all_partitions", "all_segmentations", "check_oracle", "check_problem"]
