"""Random programs of cvxpy with atoms that oracles know, each beside the explicit program.

A program is drawn in units of 1 and given in others: each of its variables is ``units`` times as
large, and its objective ``factor`` times. The explicit program is solved in units of 1, and so
knows nothing of that.

``python tests/drawn_programs.py FIRST NUMBER`` tries so many seeds and counts what comes out; with
``domains`` behind them, programs whose oracles have no value at some points.
"""

import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np

from structsvm.errors import MasterError, StructSVMError
from structsvm.modeling import Infeasible, OracleMax, StructuredHinge, segmentation_hinge
from structsvm.problems import ChangePoint

TOL = 1e-4
SLIPS = 1e-7
"""Of the size of the values, what the explicit program may be wrong by."""

FINE = ("optimal", "infeasible", "unbounded", "no truth")
SHORT = "short of it"
"""A run that says itself that it did not reach the tolerance."""

KINDS = ("bounded",) * 18 + ("infeasible", "unbounded")
PLACES = ("anywhere", "anywhere", "at zero", "at a bound")
"""Where the optimum is."""
ATOMS = ("corners", "corners", "corners", "rounded", "several", "linear", "constant")
ROOMS = ("entries", "abs", "wide", "simplex", "none", "inf", "two", "one", "squares")
"""What bounds the variables; the last ones have one unit for all entries."""
NORMS = {"inf": cp.norm_inf, "two": cp.norm, "one": cp.norm1}
BESIDE = {"squares": cp.sum_squares, "norm": cp.norm, "norm1": cp.norm1}
"""Terms beside the atoms."""


def corners(A, c=0.0):
    """Return an oracle of the highest of some planes, ``max(c + A x)``, and its slope."""

    def oracle(x):
        heights = c + A @ x
        k = heights.argmax()
        return heights[k], A[k]

    return oracle


@dataclass
class Drawn:
    """A program, the explicit one in units of 1, and what it is called."""

    rng: np.random.Generator
    kind: str = "bounded"
    factor: float = 1.0
    words: list = field(default_factory=list)
    mine: object = 0.0
    theirs: object = 0.0
    kept: list = field(default_factory=list)
    full: list = field(default_factory=list)
    """Constraints, and those of the explicit program."""
    parameters: list = field(default_factory=list)
    """Pairs of parameters, of both programs, that have other values in a second solution."""
    is_maximised: bool = False

    def chance(self, share):
        return bool(self.rng.random() < share)

    def power(self, least, most):
        """A power of ten."""
        return float(10.0 ** self.rng.integers(least, most + 1))

    def add(self, mine, theirs):
        """Add a term of the objective."""
        self.mine = self.mine + mine
        self.theirs = self.theirs + theirs

    def keep(self, mine, theirs):
        """Add a constraint."""
        self.kept.append(mine)
        self.full.append(theirs)

    def problems(self):
        if self.is_maximised:
            self.words.append("maximised")
            ours = cp.Maximize(-self.factor * self.mine)
        else:
            ours = cp.Minimize(self.factor * self.mine)
        return cp.Problem(ours, self.kept), cp.Problem(cp.Minimize(self.theirs), self.full)


class OfPlanes(Drawn):
    """Of one vector, ``x`` in other units and ``y`` in units of 1."""

    n_corners = 1
    """Planes that an oracle returns at most."""

    def draw(self):
        rng = self.rng
        n = self.n = int(rng.integers(1, 21)) if self.chance(0.5) else int(rng.integers(1, 5))
        self.kind = str(rng.choice(KINDS))
        self.factor = self.power(-8, 8) if self.chance(0.6) else 1.0
        self.units = np.full(n, self.power(-8, 8) if self.chance(0.6) else 1.0)
        self.place = str(rng.choice(PLACES))
        self.where = str(rng.choice(ROOMS))
        if self.chance(0.3):
            self.units = self.units * 10.0 ** rng.integers(-3, 4, size=n)
            self.where = str(rng.choice(ROOMS[:5]))
        if self.kind == "unbounded":
            self.place, self.where = "anywhere", "none"
        self.is_alike = bool((self.units == self.units[0]).all())
        is_nonneg = self.kind != "unbounded" and self.chance(0.15)
        self.x, self.y = (cp.Variable(n, nonneg=is_nonneg) for _ in range(2))
        self.u = cp.multiply(1 / self.units, self.x)
        self.words += [self.kind, f"n={n}", self.place, self.where, f"factor {self.factor:.0e}"]
        self.words += [f"units {self.units[0]:.0e}", *["alike"] * self.is_alike]
        self.words += ["nonneg"] * is_nonneg
        self.bound()
        self.coerce()
        for _ in range(int(rng.integers(1, 4))):
            self.add_atom()
        if self.kind == "bounded":
            self.constrain(is_nonneg)
        if self.kind == "infeasible":
            self.keep(self.x[0] >= 20 * self.units[0], self.y[0] >= 20)
            self.keep(self.x[0] <= 19 * self.units[0], self.y[0] <= 19)
        if self.chance(0.3):
            self.words.append("warm")
            start = np.abs(rng.normal(size=n)) * self.power(-3, 2)
            self.x.value = start * self.units
        self.is_maximised = self.chance(0.1)
        return self

    def bound(self):
        """Bound the variables."""
        x = self.x
        y = self.y
        units = self.units
        r = self.power(-1, 1)
        if self.where == "entries":
            low = -r * self.rng.random(self.n)
            high = r * self.rng.random(self.n)
            self.keep(x >= low * units, y >= low)
            self.keep(x <= high * units, y <= high)
        elif self.where in ("abs", "wide"):
            r = r if self.where == "abs" else self.power(3, 5)
            self.keep(cp.abs(x) <= r * units, cp.abs(y) <= r)
        elif self.where == "simplex":
            self.keep(x >= 0, y >= 0)
            self.keep((1 / units) @ x == r, cp.sum(y) == r)
        elif self.where in NORMS:
            norm = NORMS[self.where]
            self.keep(norm(x) <= r * units[0], norm(y) <= r)
        elif self.where == "squares":
            self.keep(cp.sum_squares(x) <= (r * units[0]) ** 2, cp.sum_squares(y) <= r**2)

    def coerce(self):
        """Terms beside the atoms, coercive ones where nothing else bounds the variables."""
        is_needed = self.where == "none" and self.kind == "bounded"
        by_planes = is_needed and self.place == "at zero" and self.chance(0.5)
        if by_planes:
            self.words.append("bounded by planes")
            self.add_planes("corners")
        if (is_needed and not by_planes) or self.chance(0.4):
            self.add_beside(str(self.rng.choice(list(BESIDE))))
        if not by_planes and not is_needed and self.chance(0.4):
            self.words.append("linear")
            slope = self.rng.normal(size=self.n)
            self.add((slope / self.units) @ self.x, slope @ self.y)
        if self.chance(0.5):
            self.words.append("plus a constant")
            c = float(self.rng.normal()) * self.power(-1, 1)
            self.add(c, c)

    def add_beside(self, name):
        """A norm or a sum of squares of the distance to a point."""
        self.words.append(name)
        f = BESIDE[name]
        u = self.units[0]
        power = 2 if name == "squares" else 1
        weight = float(10.0 ** self.rng.uniform(-2, 1)) if name == "squares" else 20.0
        around = self.rng.normal(size=self.n) * self.chance(0.5)
        mine, theirs = (self.x - around * u, u**-power) if self.is_alike else (self.u - around, 1)
        if self.chance(0.3):
            self.words.append("a parameter")
            weights = [cp.Parameter(nonneg=True, value=weight) for _ in range(2)]
            self.parameters.append(weights)
        else:
            weights = [weight, weight]
        self.add(theirs * weights[0] * f(mine), weights[1] * f(self.y - around))

    def planes(self, name):
        """Slopes and intercepts of a function in units of 1."""
        count = {"linear": 1, "constant": 1}.get(name, int(self.rng.integers(2, 60)))
        A = self.rng.normal(size=(count, self.n))
        c = self.rng.normal(size=count) * self.power(-2, 0)
        if name == "constant":
            A[:] = 0.0
        if self.place == "at zero" and count > 1:
            return np.concatenate([A, -A]), np.zeros(2 * count)
        return A, c

    def atom(self, name):
        """A function of ``x`` by an oracle, and of ``y`` in full."""
        A, c = self.planes(name)
        units = self.units
        factor = self.factor

        def corners(at):
            heights = c + A @ (at / units)
            k = np.argsort(heights)[-self.n_corners :] if self.n_corners > 1 else heights.argmax()
            return factor * heights[k], factor * A[k] / units

        def rounded(at):
            heights = c + A @ (at / units)
            top = heights.max()
            shares = np.exp(heights - top)
            slope = A.T @ (shares / shares.sum()) / units
            return factor * (top + np.log(shares.sum())), factor * slope

        def several(at):
            return factor * (c + A @ (at / units)), factor * A / units

        if name == "rounded":
            return OracleMax(self.x, self.within(rounded)) / factor, cp.log_sum_exp(c + A @ self.y)
        if name == "several":
            h = OracleMax(self.x, self.within(several), n_terms=c.size)
            return cp.max(h) / factor, cp.max(c + A @ self.y)
        return OracleMax(self.x, self.within(corners)) / factor, cp.max(c + A @ self.y)

    def within(self, oracle):
        """The oracle, which has a value everywhere."""
        return oracle

    def add_planes(self, name):
        weight = float(self.rng.random()) + 0.1
        self.words.append(name)
        self.add(*(weight * f for f in self.atom(name)))

    def add_atom(self):
        """An atom in the objective, as an epigraph, or below a level that is kept somewhere."""
        name = str(self.rng.choice(ATOMS)) if self.kind != "unbounded" else "linear"
        form = self.rng.random() if self.kind == "bounded" else 1.0
        if form < 0.15 and self.where != "simplex":
            h, g = self.atom(name)
            self.words += [name, "in a constraint"]
            self.y.value = np.abs(self.rng.normal(size=self.n)) * 0.01
            level = float(g.value) + 0.1
            self.keep(h * self.factor <= self.factor * level, g <= level)
        elif form < 0.3:
            h, g = self.atom(name)
            self.words += [name, "an epigraph"]
            t = cp.Variable()
            s = cp.Variable()
            self.keep(self.factor * h <= t, g <= s)
            self.add(t / self.factor, s)
        else:
            self.add_planes(name)

    def constrain(self, is_nonneg):
        """Equalities, cones, and a constraint that is active; zero keeps all of them but that."""
        x = self.x
        y = self.y
        units = self.units
        if self.chance(0.15) and self.where != "simplex" and not is_nonneg:
            self.words.append("an equality")
            a = self.rng.normal(size=self.n)
            self.keep((a / units) @ x == 0.0, a @ y == 0.0)
        if self.chance(0.15) and self.is_alike and self.where != "simplex":
            self.words.append("a cone")
            M = self.rng.normal(size=(3, self.n))
            v = self.rng.normal(size=3)
            room = float(np.linalg.norm(v)) + 0.5
            mine = cp.norm(M @ x + v * units[0]) <= room * units[0] + 0.1 * x[0]
            self.keep(mine, cp.norm(M @ y + v) <= room + 0.1 * y[0])
        if self.place == "at a bound" and self.where != "simplex" and not is_nonneg:
            self.keep((1 / units) @ x <= -0.001, cp.sum(y) <= -0.001)


class OfDomains(OfPlanes):
    """The same with oracles that have a value within half-spaces or a ball, and several planes."""

    def draw(self):
        self.n_corners = int(self.rng.integers(1, 7))
        return super().draw()

    def within(self, oracle):
        """The oracle where a domain around zero holds; planes that cut a point off elsewhere."""
        rng = self.rng
        scale = self.power(-3, 3)
        if self.chance(0.3):
            r = float(np.exp(rng.normal())) * np.sqrt(self.n)
            self.words.append("in a ball")
            self.full.append(cp.norm(self.y) <= r)

            def outside(y):
                length = float(np.linalg.norm(y))
                return [length - r], [y / length] if length else [y]
        else:
            count = int(rng.integers(1, 6))
            D = rng.normal(size=(count, self.n))
            d = rng.random(count) + 0.05
            few = int(rng.integers(1, count + 1))
            self.words.append(f"in {count} half-spaces")
            self.full.append(D @ self.y <= d)

            def outside(y):
                away = D @ y - d
                worst = np.argsort(away)[-few:]
                return away[worst], D[worst]

        def answer(at):
            values, slopes = outside(at / self.units)
            if max(values) > 0:
                return Infeasible(scale * np.array(values), scale * np.array(slopes) / self.units)
            return oracle(at)

        return answer


class OfHinges(Drawn):
    """Hinge losses of change points, of samples in another unit."""

    def draw(self):
        rng = self.rng
        P = int(self.rng.integers(1, 4))
        Xs = []
        ys = []
        for _ in range(int(rng.integers(1, 4))):
            T = int(rng.integers(3, 8))
            k = int(rng.integers(2, min(4, T) + 1))
            cut = np.sort(rng.choice(np.arange(1, T), k - 1, replace=False))
            ys.append(np.searchsorted(cut, np.arange(T), side="right"))
            Xs.append(rng.normal(size=(T, P)) + 2 * rng.normal(size=(k, P))[ys[-1]])
        scale = self.power(-4, 4)
        self.factor = self.power(-8, 8) if self.chance(0.4) else 1.0
        u = scale**-2
        lam = float(10.0 ** rng.uniform(-2, 1))
        is_full = self.chance(0.3)
        shape, sign = ((P, P), {"PSD": True}) if is_full else (P, {"nonneg": True})
        B = cp.Variable(shape, **sign)
        C = cp.Variable(shape, **sign)
        p = cp.Variable(nonneg=True)
        q = cp.Variable(nonneg=True)
        self.words += ["bounded", "hinge", f"N={len(Xs)}", f"P={P}", f"scale {scale:.0e}"]
        self.words += [f"factor {self.factor:.0e}", *["full"] * is_full]
        total = cp.trace if is_full else cp.sum
        if self.chance(0.5):
            self.words.append("squares")
            self.add(lam / u**2 * cp.sum_squares(B), lam * cp.sum_squares(C))
        else:
            self.add(lam / u * total(B), lam * total(C))
        self.add(0.1 * cp.square(p), 0.1 * cp.square(q))
        mine = StructuredHinge(ChangePoint(), [scale * X for X in Xs], ys, [B, p])
        self.add(mine, segmentation_hinge(ChangePoint(), Xs, ys, [C, q]))
        first = (0, 0) if is_full else 0
        if self.chance(0.4):
            self.words.append("capped")
            self.keep(B[first] <= 0.2 * u, C[first] <= 0.2)
        if self.chance(0.3):
            self.words.append("tied")
            self.keep(total(B) == 0.3 * u, total(C) == 0.3)
        return self


def draw(seed, has_domains=False):
    """The program of a seed."""
    rng = np.random.default_rng(seed)
    if has_domains:
        return OfDomains(rng).draw()
    kind = OfHinges if rng.random() < 0.15 else OfPlanes
    return kind(rng).draw()


def truth_of(problem):
    """The optimal value of an explicit program; NaN where Clarabel does not find it."""
    exact = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    for options in (exact, {}):
        try:
            value = problem.solve(solver=cp.CLARABEL, **options)
        except cp.error.SolverError:
            continue
        if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.INFEASIBLE, cp.UNBOUNDED):
            return float(value)
    return np.nan


def outcome(drawn, ours, theirs):
    """How a program ends, in words of ``FINE``, ``SHORT``, or what is wrong; and details."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A solver that looks for a direction first may call empty constraints unbounded.
        truth = np.inf if drawn.kind == "infeasible" else truth_of(theirs)
        if np.isnan(truth):
            return "no truth", ""
        try:
            ours.solve(method="cutting-plane", tol=TOL)
        except StructSVMError as error:
            if truth == -np.inf and isinstance(error, MasterError):
                return "unbounded", ""
            return "error", f"{type(error).__name__}: {error}"
    if truth == np.inf:
        is_said = ours.status == cp.INFEASIBLE
        return "infeasible" if is_said else "not infeasible", ours.status
    found = ours.solver_stats.extra_stats
    factor = drawn.factor
    ends = [found.lower / factor, found.upper / factor]
    lower, upper = [-end for end in reversed(ends)] if drawn.is_maximised else ends
    size = max(abs(truth), found.scale / factor, 1e-3)
    told = f"[{lower:.10g}, {upper:.10g}] truth {truth:.10g}, {ours.status}: {found.status[:60]}"
    if not lower - SLIPS * size <= truth <= upper + SLIPS * size:
        return "false", told
    if ours.status != cp.OPTIMAL:
        return SHORT, told
    return ("optimal" if upper - truth <= 2 * TOL * size else "too far"), told


def outcomes(seed, has_domains=False):
    """The program of a seed and how it ends, also with other values of its parameters."""
    drawn = draw(seed, has_domains)
    ours, theirs = drawn.problems()
    found = [outcome(drawn, ours, theirs)]
    if drawn.parameters:
        for pair in drawn.parameters:
            for parameter in pair:
                parameter.value = 0.5 * parameter.value
        found.append(outcome(drawn, ours, theirs))
    return drawn, found


def main(first, number, has_domains=False):
    """Try seeds, print those that end badly, and count."""
    counts = Counter()
    started = time.process_time()
    for seed in range(first, first + number):
        before = time.process_time()
        drawn, found = outcomes(seed, has_domains)
        took = time.process_time() - before
        for word, told in found:
            counts[word] += 1
            if word not in FINE or took > 10:
                print(f"{seed}: {word} ({took:.1f} s): {told} {drawn.words}", flush=True)
    print(f"{number} programs: {dict(counts)}, {time.process_time() - started:.0f} CPU s")
    return counts


if __name__ == "__main__":
    done = main(int(sys.argv[1]), int(sys.argv[2]), "domains" in sys.argv)
    sys.exit(bool(set(done) - {*FINE, SHORT}))
