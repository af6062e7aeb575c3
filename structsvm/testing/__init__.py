"""Conformance kit: what a plugin promises, checked.

Write one test for each oracle and for each problem of your own::

    from structsvm.testing import check_oracle, check_problem

    def test_my_oracle():
        check_oracle(MyOracle(), contiguous=True)

    def test_my_problem():
        check_problem(MyProblem(), Xs, ys)

``all_partitions`` and ``all_segmentations`` of :mod:`structsvm.oracles` list the partitions of a
few items, from which the family of an oracle is made up.
"""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.testing.oracle import check_oracle as check_oracle
    from structsvm.testing.problem import check_problem as check_problem
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "check_oracle": "structsvm.testing.oracle",
            "check_problem": "structsvm.testing.problem",
        },
    )
