"""The lower bound of a conic program that a dual point proves.

For every ``z`` in the dual cone and every ``y``

    f(x) >= -y'Py/2 - b'z + <r, x> + (x - y)'P(x - y)/2    with    r = Py + q + A'z

at every feasible ``x``. A solver leaves a small ``r``, so that the bound also needs a lower bound
of ``<r, x>``, which follows from what the program says of ``x``. ``docs/theory.md`` has the proof.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from structsvm.masters.conic import EPS, ConicProgram, column_places, diagonal_of
from structsvm.problem import PSD, smat_operator
from structsvm.support import Bools, Floats

LARGEST_ORDER = 40
"""Largest order of a matrix whose multiplier is corrected, at the cost of the order to the 6."""


def freedom(z: Floats, program: ConicProgram) -> Any:
    """``W`` such that ``z + W d`` stays in the dual cone for ``|d| < 1``: Dikin's ellipsoid."""
    plain = np.append(1.0 + np.abs(z[: program.dims.zero]), z[program.dims.zero : program.n_plain])
    places = np.arange(plain.size)
    rows = [places]
    columns = [places]
    entries = [plain]
    for kind, first, size in program.blocks:
        part = z[first : first + size]
        if kind == "soc":
            root = _root_of_second_order(part)
        elif kind == "psd" and size <= LARGEST_ORDER * (LARGEST_ORDER + 1) // 2:
            root = _root_of_semidefinite(part)
        elif kind == "exp":
            root = _along_exponential(part)
        elif kind == "power":
            root = np.diag(np.abs(part))
        else:
            continue
        i, j = np.nonzero(root)
        rows.append(first + i)
        columns.append(first + j)
        entries.append(root[i, j])
    where = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_array((np.concatenate(entries), where), shape=(z.size, z.size))


def _root_of_second_order(z: Floats) -> Any:
    """``P(h) = 2 h h' - det(h) J``, with ``h`` the square root of ``z`` in the Jordan algebra."""
    length = float(np.linalg.norm(z[1:]))
    top = np.sqrt(max(z[0] + length, 0.0))
    bottom = np.sqrt(max(z[0] - length, 0.0))
    h = np.empty(z.size)
    h[0] = 0.5 * (top + bottom)
    h[1:] = 0.5 * (top - bottom) * z[1:] / (length or 1.0)
    J = np.ones(z.size)
    J[1:] = -1.0
    return 2.0 * np.outer(h, h) - top * bottom * np.diag(J)


def _root_of_semidefinite(z: Floats) -> Any:
    """``D -> R D R``, R the square root of the matrix of ``z``, for triangles by columns."""
    order = diagonal_of(z.size).size
    places = column_places(order)
    to_matrix = smat_operator(order)
    values, vectors = np.linalg.eigh((to_matrix @ z[places]).reshape(order, order))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    by_rows = to_matrix.T @ (np.kron(root, root) @ to_matrix.toarray())
    by_columns = np.empty_like(by_rows)
    by_columns[np.ix_(places, places)] = by_rows
    return by_columns


def _along_exponential(z: Floats) -> Any:
    """Directions along the boundary ``w = -u exp(v / u - 1)`` of the dual cone."""
    u = float(z[0])
    v = float(z[1])
    if not u < 0:
        return np.zeros((3, 3))
    grows = math.exp(min(v / u - 1.0, 700.0))
    return -u * np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [grows * (v / u - 1.0), -grows, 0.0]])


def into_dual_cone(z: Floats, program: ConicProgram) -> Floats:
    """A point of the dual cone of a program near ``z``."""
    z = z.copy()
    dims = program.dims
    unequal = slice(int(dims.zero), program.n_plain)
    z[unequal] = np.maximum(z[unequal], 0.0)
    # cvxpy has had products of more than two powers since 1.8.
    all_powers = iter([*((a, 1.0 - a) for a in dims.p3d), *getattr(dims, "pnd", ())])
    for kind, first, size in program.blocks:
        part = z[first : first + size]  # a view
        if kind == "soc":
            part[0] = max(part[0], float(np.linalg.norm(part[1:])) * (1.0 + (size + 4) * EPS))
        elif kind == "psd":
            diagonal = diagonal_of(size)
            places = column_places(diagonal.size)
            part[places] = PSD(diagonal.size).project(part[places])
            part[diagonal] += 4 * diagonal.size * EPS * float(np.abs(part).max(initial=0.0))
        elif kind == "exp":  # the closure of u < 0, -u exp(v / u - 1) <= w
            u, v, w = part.tolist()
            with np.errstate(over="ignore"):
                low = (0.0, max(v, 0.0), 0.0) if u >= 0 else (u, v, float(-u * np.exp(v / u - 1.0)))
            part[:] = low[0], low[1], max(w, low[2])
        else:
            powers = np.asarray(next(all_powers))
            part[:-1] = np.maximum(part[:-1], 0.0)
            most = float(np.prod((part[:-1] / powers) ** powers))
            part[-1] = np.clip(part[-1], -most, most)
    return z


ROUNDING_OF_RESIDUALS = 2.0**-43
"""Residuals below this part of the terms of their column are taken for rounding."""
ASSUMED = 2.0**20
"""Assumed bound of a minimiser, in units of the data, in columns that nothing bounds and whose
residual is rounding."""
PROVED = "to the accuracy of the conic solver"
CONDITIONAL = f"{PROVED}, for points within 2^20 of the units of the data"
MAX_DUAL = 1e50  # largest entry, in units, of a point that is tried as a proof
CLOSE = 1e-10  # part of the terms of the objective; bounds as close to its value are not improved
MAX_CORRECTIONS = 4  # most corrections of a dual point, each of which removes most of its residual
RIDGE = 1e-13
"""Part of its diagonal that is added to a least-squares matrix, which may be singular."""
FEW_COLUMNS, MOST_COLUMNS = 300, 1500
"""Most columns of a least-squares problem for a QR decomposition, and for a dense matrix."""


class Proof(NamedTuple):
    """A lower bound; if it is conditional, for minimisers within ``ASSUMED`` units only."""

    bound: float
    is_conditional: bool = False
    weight: float = 0.0  # ``sum |b_i z_i|``: the effect of relative changes of right sides

    def times(self, unit: float) -> "Proof":
        """The proof for the program whose objective is multiplied by ``unit``."""
        return Proof(unit * self.bound, self.is_conditional, unit * self.weight)

    @property
    def basis(self) -> str:
        """What the bound rests on, in words."""
        return CONDITIONAL if self.is_conditional else PROVED


NOTHING_PROVED = Proof(-np.inf)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def proof(
    program: ConicProgram, y: Floats, z: Floats, box: tuple[Floats, Floats], close: float = CLOSE
) -> Proof:
    """The best lower bound that a proposed dual point proves, for a program in units of its data.

    The point is tried as it is, then corrected without the multipliers of rows that have room at
    ``y``, and corrected with them: each bound is valid. The search ends at a bound that is
    ``close`` to the value at ``y``, relative to the size of its terms.
    """
    if not max(np.abs(y).max(initial=0.0), np.abs(z).max(initial=0.0)) < MAX_DUAL:
        return NOTHING_PROVED
    slacks = program.b - program.A @ y
    rounded = z.copy()
    unequal = slice(int(program.dims.zero), program.n_plain)
    rounded[unequal] = np.where(slacks[unequal] > z[unequal], 0.0, z[unequal])
    terms = np.concatenate([[program.offset], program.q * y, 0.5 * y * (program.P @ y)])
    enough = float(terms.sum()) - close * float(np.abs(terms).sum())
    best = _Dual(program, box, y, z).proof()
    for start in (rounded, z):
        if not best.bound >= enough:
            best = max(best, _Dual(program, box, y, start).best(enough), key=_bound_of)
    return best


def _bound_of(proved: Proof) -> float:
    """The key by which proofs are compared."""
    return proved.bound


class _Dual:
    """A dual point with its residual, which corrections reduce to rounding."""

    def __init__(
        self, program: ConicProgram, box: tuple[Floats, Floats], y: Floats, z: Floats
    ) -> None:
        self.program, self.box, self.y = program, box, y
        self.z = into_dual_cone(z, program)
        counts = np.bincount(program.A.indices, minlength=y.size) + np.diff(program.P.indptr)
        self._slips = (counts + 8) * EPS
        self._look()

    def _look(self) -> None:
        """Compute the residual, the terms that it is a sum of, and its rounding."""
        program = self.program
        Py = program.P @ self.y
        Az = program.A.T @ self.z
        self.r = Py + program.q + Az
        A, P = program.magnitudes
        self.terms = P @ np.abs(self.y) + np.abs(program.q) + A.T @ np.abs(self.z)
        self.slips = self._slips * self.terms

    def best(self, enough: float) -> Proof:
        """The best bound over all corrections, or the first that is ``enough``."""
        best = NOTHING_PROVED
        for _ in range(MAX_CORRECTIONS):
            best = max(best, self.proof(), key=_bound_of)
            if best.bound >= enough:
                break
            wanted = (self.program.curvature == 0) & (np.abs(self.r) > self.slips)
            if not (wanted.any() and np.isfinite(self.terms).all()):
                break
            if not self._correct():
                break
            self._look()
        else:
            best = max(best, self.proof(), key=_bound_of)
        return best

    # ---- the bound

    def proof(self) -> Proof:
        """The bound with ``<r, x>`` bounded from below, column by column."""
        low, high = self.box
        bends = self.program.curvature > 0
        boxed = np.isfinite(low) & np.isfinite(high) & ~bends
        r = self.r
        slips = self.slips
        is_bounded = ((r >= slips) & np.isfinite(low)) | ((r <= -slips) & np.isfinite(high))
        is_bounded &= ~(bends | boxed)
        while True:
            loose = ~(bends | boxed | is_bounded)
            error, extra, left = self._moved(np.where(loose, np.abs(r), 0.0) + slips, loose)
            unsure = is_bounded & (np.abs(r) < error)
            if not unsure.any():
                break
            is_bounded &= ~unsure
        rounding = np.maximum(ROUNDING_OF_RESIDUALS * self.terms, 2.0 * slips)
        rounding = np.maximum(rounding, 8 * EPS * float(self.terms.max(initial=0.0)))
        if (left & (np.abs(r) > rounding)).any():
            return NOTHING_PROVED
        extra += ASSUMED * float(error[left].sum())
        k = self.program.curvature[bends]
        at = self.y[bends]
        extra += float(((np.abs(r[bends]) + error[bends]) ** 2 / (2.0 * k)).sum())
        extra += float((error[bends] * np.abs(at)).sum())
        extra += float((error[boxed] * np.maximum(np.abs(low), np.abs(high))[boxed]).sum())
        end = np.where(r > 0, low, high)[is_bounded]
        extra += float((error[is_bounded] * np.abs(end)).sum())
        ends = np.minimum(r[boxed] * low[boxed], r[boxed] * high[boxed])
        linear = np.concatenate([r[bends] * at, ends, r[is_bounded] * end])
        return self._bound(linear, extra, bool(left.any()))

    def _bound(self, linear: Floats, cost: float, is_conditional: bool) -> Proof:
        """The bound from the terms of ``<r, x>`` and the cost of errors, rounded downwards."""
        program = self.program
        bent = -0.5 * self.y * (program.P @ self.y)
        bent_size = 0.5 * float(np.abs(self.y) @ (program.magnitudes[1] @ np.abs(self.y)))
        terms = np.concatenate([[program.offset], bent, -program.b * self.z, linear])
        if not np.isfinite(terms).all() or not math.isfinite(cost):
            return NOTHING_PROVED
        widest = int(np.diff(program.P.indptr).max(initial=0)) + 4
        size = math.fsum(np.abs(terms).tolist())
        rounding = 4 * EPS * size + widest * EPS * bent_size
        bound = math.fsum(terms.tolist()) - cost * (1.0 + 2.0**-30) - rounding
        weight = float(np.abs(program.b) @ np.abs(self.z))
        return Proof(bound, is_conditional, weight) if math.isfinite(bound) else NOTHING_PROVED

    def _moved(self, error: Floats, loose: Bools) -> tuple[Floats, float, Bools]:
        """The errors after those of loose columns are absorbed by rows, the cost, and which remain.

        A change of the multiplier of an equality, or of an inequality with a larger multiplier,
        removes the error of a column, at the cost of its right side and of errors in other columns.
        """
        program = self.program
        z = self.z
        n = program.n_plain
        rows = np.arange(n)
        able = (rows < int(program.dims.zero)) | (z[:n] > 0)
        row, column, value = program.entries
        is_useful = (row < n) & loose[column]
        is_useful[is_useful] = able[row[is_useful]]
        row = row[is_useful]
        column = column[is_useful]
        size = np.abs(value[is_useful])
        room = np.where(rows < int(program.dims.zero), np.inf, z[:n])
        weight = np.minimum(room[row], 1.0) * size
        is_open = loose.copy()
        layers = []
        while True:
            single = np.bincount(row, is_open[column], minlength=n) == 1
            usable = np.flatnonzero(
                single[row] & is_open[column] & (weight >= 1e-6 * self.terms[column])
            )
            if not usable.size:
                break
            usable = usable[np.argsort(weight[usable], kind="stable")]
            chosen = np.full(is_open.size, -1)
            chosen[column[usable]] = usable
            chosen = chosen[chosen >= 0]
            layers.append(chosen)
            is_open[column[chosen]] = False
        error = error.copy()
        cost = 0.0
        magnitude = program.magnitudes[0]
        for chosen in reversed(layers):
            i = row[chosen]
            j = column[chosen]
            change = error[j] / size[chosen]
            tight = change > 0.5 * room[i]
            is_open[j[tight]] = True
            i = i[~tight]
            j = j[~tight]
            change = change[~tight]
            error += magnitude[i].T @ change
            error[j] = 0.0
            cost += float(change @ np.abs(program.b[i]))
        return error * (1.0 + 2.0**-30), cost, is_open

    # ---- the correction

    def _correct(self) -> bool:
        """Reduce the residual by a least change of the point; False if numbers are not finite."""
        program = self.program
        y = self.y.copy()
        r = self.r.copy()
        for members in program.bends:
            part = program.P[members][:, members].toarray()
            part += RIDGE * np.trace(part) * np.eye(members.size)
            step = -np.linalg.solve(part, r[members])
            y[members] += step
        r += program.P @ (y - self.y)
        wanted = np.flatnonzero((np.maximum(program.P.diagonal(), 0.0) == 0) | self._crossed)
        W = freedom(self.z, program)
        B = sp.csr_array(W.T @ program.A)[:, wanted]
        if not np.isfinite(B.data).all():
            return False
        change = W @ _least_change(B, r[wanted])
        self.z = into_dual_cone(self.z - change, program)
        self.y = y
        return True

    @property
    def _crossed(self) -> Bools:
        """Whether each column is in a block of P that is not diagonal."""
        is_crossed = np.zeros(self.r.size, dtype=bool)
        for members in self.program.bends:
            is_crossed[members] = True
        return is_crossed


def _least_change(B: Any, r: Floats) -> Floats:
    """The shortest ``d`` with ``B'd = r``, or with the least residual."""
    gram = sp.csc_array(B.T @ B)
    scale = np.sqrt(gram.diagonal())
    scale[scale == 0] = 1.0
    n = scale.size
    right = r / scale
    if n > MOST_COLUMNS:
        d = sp.diags_array(1.0 / scale)
        regular = sp.csc_array(d @ gram @ d + RIDGE * sp.eye_array(n))
        return np.asarray(B @ (splu(regular).solve(right) / scale))
    if n > FEW_COLUMNS:
        dense = gram.toarray() / np.outer(scale, scale) + RIDGE * np.eye(n)
        return np.asarray(B @ (np.linalg.solve(dense, right) / scale))
    # Normal equations would lose half of the digits of multipliers that are small beside others.
    Q, R = np.linalg.qr(np.vstack([B.toarray() / scale, RIDGE * np.eye(n)]))
    return np.asarray(Q[: B.shape[0]] @ np.linalg.solve(R.T, right))
