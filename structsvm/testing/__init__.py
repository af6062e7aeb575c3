"""Conformance kit: what a plugin promises, checked.

Write one test for each oracle and for each problem of your own::

    from structsvm.testing import check_oracle, check_problem

    def test_my_oracle():
        check_oracle(MyOracle(), contiguous=True)

    def test_my_problem():
        check_problem(MyProblem(), Xs, ys)
"""

from structsvm.testing.oracle import check_oracle
from structsvm.testing.problem import check_problem

__all__ = ["check_oracle", "check_problem"]
