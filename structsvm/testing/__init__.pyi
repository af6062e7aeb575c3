from structsvm.testing.oracle import check_oracle as check_oracle
from structsvm.testing.problem import check_problem as check_problem
