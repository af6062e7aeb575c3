"""Lower bounds of conic programs, from proposed dual points."""

from structsvm.masters.bounds import proof_of
from structsvm.masters.conic import ConicProgram, box_of, units_in
from structsvm.masters.conic_proof import proof


def dual_bound(problem):
    """Return a lower bound of the minimum, from a dual point that Clarabel proposes."""
    return proof_of(problem).bound


def proved_bound(data, offset, y, z):
    """Return a lower bound of a program in the form that Clarabel takes, from this dual point."""
    program = ConicProgram.of(data, offset)
    units = units_in(program)
    box = units.box(box_of(program))
    proved = proof(units.scaled(program), y / units.columns, z * units.rows / units.objective, box)
    return proved.times(units.objective).bound
