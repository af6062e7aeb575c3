"""Conformance kit: what a plugin promises, checked.

Write one test for each oracle of your own::

    from structsvm.testing import check_oracle

    def test_my_oracle():
        check_oracle(MyOracle(), contiguous=True)
"""

from structsvm.testing.oracle import check_oracle

__all__ = ["check_oracle"]
