"""Conformance tests of plugins.

Write one test for each oracle and for each problem of your own::

    from structsvm.testing import check_oracle, check_problem

    def test_my_oracle():
        check_oracle(MyOracle(), contiguous=True)

    def test_my_problem():
        check_problem(MyProblem(), Xs, ys)

``all_partitions`` and ``all_segmentations`` of :mod:`structsvm.oracles` list the partitions of a
few items, from which the family of an oracle is made up.
"""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
