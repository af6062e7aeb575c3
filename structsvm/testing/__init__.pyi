from structsvm.testing.atom import check_atom as check_atom
from structsvm.testing.optimization import check_master as check_master
from structsvm.testing.optimization import check_regularizer as check_regularizer
from structsvm.testing.optimization import check_solver as check_solver
from structsvm.testing.oracle import check_oracle as check_oracle
from structsvm.testing.problem import check_problem as check_problem
