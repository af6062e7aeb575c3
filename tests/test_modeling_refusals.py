"""What cutting planes in cvxpy refuse, and what they say then."""

import os
import signal
import threading
import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import MasterError, OracleError, PluginError, SettingsError
from structsvm.modeling import OracleMax

ROWS = np.random.default_rng(0).normal(size=(50, 3))


def highest(x):
    k = (ROWS @ x).argmax()
    return ROWS[k] @ x, ROWS[k]


def problem_of(oracle, **declared):
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(OracleMax(x, oracle, **declared) + cp.sum_squares(x - 1)))


def solve(problem, **settings):
    return problem.solve(method="cutting-plane", **settings)


WRONG_ANSWERS = {
    "no pair": (lambda x: 1.0, PluginError, r"returned 1.0 \(a float\): return \(value, slope\)"),
    "nothing": (lambda x: None, PluginError, "returned None"),
    "NaN": (lambda x: (np.nan, x), OracleError, "returned nan in its value"),
    "an infinite slope": (lambda x: (1.0, x + np.inf), OracleError, "returned inf in its slope"),
    "another shape": (lambda x: (1.0, x[:2]), PluginError, r"slope of shape \(2,\), where \(3,\)"),
    "several values": (lambda x: (x, x), PluginError, r"value of shape \(3,\), where \(\) is due"),
    "words": (lambda x: ("high", x), PluginError, "'high' .* as its value: return real numbers"),
    "complex": (lambda x: (1.0, x + 1j), PluginError, "as its slope: return real numbers"),
    "an upper bound below": (
        lambda x: (1.0, 0 * x, 0.5),
        OracleError,
        "upper bound .*0.5.*below its value",
    ),
    "an error of its own": (lambda x: x["a"], OracleError, "the oracle raised IndexError"),
    "written to its argument": (
        lambda x: x.fill(0.0),
        PluginError,
        "copy what it was given before writing to it",
    ),
}


@pytest.mark.parametrize(("oracle", "error", "words"), WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_an_oracle_that_answers_wrongly_is_named(oracle, error, words):
    with pytest.raises(error, match=f"risk: .*{words}"):
        solve(problem_of(oracle, label="risk"))


def test_an_oracle_that_does_not_find_a_maximum_is_named():
    rng = np.random.default_rng(1)

    def some_row(x):
        row = ROWS[rng.integers(50)]
        return row @ x, row

    with pytest.raises(OracleError, match=r"OracleMax: .* it does not find a maximum of planes"):
        solve(problem_of(some_row))


def test_a_plane_above_an_earlier_value_is_named():
    """The slope is not one of the function: the plane cuts the function off elsewhere."""

    def wrong_slope(x):
        value, slope = highest(x)
        return value, slope + 3.0 * np.sign(x)

    with pytest.raises(OracleError, match=r"OracleMax: .* at least"):
        solve(problem_of(wrong_slope))


def test_an_oracle_that_has_changed_since_is_named():
    shift = cp.Parameter(value=0.0)

    def closed_over(x):
        value, slope = highest(x)
        return value - shift.value, slope

    problem = problem_of(closed_over)
    solve(problem)
    shift.value = 5.0
    with pytest.raises(OracleError, match=r"has changed since.*parameters="):
        solve(problem)


def test_a_declared_sign_or_monotonicity_is_held_against_the_oracle():
    with pytest.raises(OracleError, match="declared sign='nonneg', and the oracle returned"):
        solve(problem_of(lambda x: (x[0] - 5.0, np.eye(3)[0]), sign="nonneg"))
    with pytest.raises(OracleError, match="declared sign='nonpos'"):
        solve(problem_of(lambda x: (5.0, np.zeros(3)), sign="nonpos"))
    with pytest.raises(OracleError, match="declared monotonicity='increasing'"):
        solve(problem_of(highest, monotonicity="increasing"))


def test_the_variables_keep_their_values_when_an_oracle_fails():
    calls = []

    def fails(x):
        calls.append(x)
        if len(calls) > 1:
            raise RuntimeError("out of order")
        return highest(x)

    problem = problem_of(fails)
    (x,) = problem.variables()
    x.value = np.array([1.0, 2.0, 3.0])
    with pytest.raises(OracleError, match="raised RuntimeError: out of order"):
        solve(problem)
    np.testing.assert_array_equal(x.value, [1.0, 2.0, 3.0])


def test_a_plain_solve_is_refused_with_the_call_to_make():
    with pytest.raises(SettingsError, match=r'call problem.solve\(method="cutting-plane"\)'):
        problem_of(highest).solve()


def test_a_concave_use_is_named():
    x = cp.Variable(3)
    h = OracleMax(x, highest, label="risk")
    with pytest.raises(SettingsError, match=r"the objective, .*risk is convex, so that it may be"):
        solve(cp.Problem(cp.Maximize(h)))
    with pytest.raises(SettingsError, match=r"constraint 1, .*risk is convex"):
        solve(cp.Problem(cp.Minimize(h), [x <= 1, h >= 1]))
    with pytest.raises(SettingsError, match=r"constraint 0, .*is not convex by the rules"):
        solve(cp.Problem(cp.Minimize(h), [cp.norm(x) >= 1]))


def test_problems_that_are_none_of_this_method_are_refused():
    x, z = cp.Variable(3), cp.Variable(3, complex=True)
    with pytest.raises(SettingsError, match="the problem has no atom with an oracle"):
        solve(cp.Problem(cp.Minimize(cp.sum_squares(x))))
    with pytest.raises(SettingsError, match="has no variables"):
        solve(cp.Problem(cp.Minimize(OracleMax(np.ones(3), highest))))
    with pytest.raises(SettingsError, match=r"OracleMax depends on .* is complex"):
        solve(cp.Problem(cp.Minimize(OracleMax(cp.real(z), highest))))
    with pytest.raises(SettingsError, match="real and the imaginary part"):
        OracleMax(z, highest)
    unset = cp.Parameter(nonneg=True, name="lam")
    with pytest.raises(SettingsError, match="parameter lam has no value"):
        solve(cp.Problem(cp.Minimize(unset * OracleMax(x, highest))))
    with pytest.raises(SettingsError, match="parameter lam has no value"):
        solve(problem_of(lambda x, p: highest(x), parameters=[unset]))


SETTINGS = {
    "tol": ({"tol": -1}, "tol must be > 0"),
    "max_iter": ({"max_iter": 0}, "max_iter must be an integer >= 1"),
    "slack": ({"slack": "two"}, "slack must be 'n' or 'one'"),
    "solver": ({"solver": "NOSUCH"}, "solver 'NOSUCH' is not installed; these are: .*CLARABEL"),
    "backend": ({"backend": "gpu"}, "backend must be"),
    "options": ({"no_such_option": 1}, "no_such_option"),
    "gp": ({"gp": True}, "gp=True is not for cutting planes"),
    "qcp": ({"qcp": True}, "qcp=True is not for cutting planes"),
    "requires_grad": ({"requires_grad": True}, "requires_grad=True is not for cutting planes"),
}


@pytest.mark.parametrize(("settings", "words"), SETTINGS.values(), ids=SETTINGS)
def test_settings_are_checked(settings, words):
    with pytest.raises(SettingsError, match=words):
        solve(problem_of(highest), **settings)


ATOMS = {
    "no oracle": ({"oracle": 3}, "oracle is 3"),
    "no oracles": ({"oracle": []}, "a list of oracles, one at least"),
    "terms of a list": ({"oracle": [highest], "n_terms": 1}, "leave n_terms out"),
    "no terms": ({"n_terms": 0}, "n_terms must be an integer >= 1"),
    "no sign": ({"sign": "positive"}, "sign must be one of"),
    "no monotonicity": ({"monotonicity": "up"}, "monotonicity must be one of"),
    "no argument": ({"x": []}, "has no argument"),
}


@pytest.mark.parametrize(("given", "words"), ATOMS.values(), ids=ATOMS)
def test_what_an_atom_is_made_of_is_checked(given, words):
    settings = {"x": cp.Variable(3), "oracle": highest, **given}
    with pytest.raises(SettingsError, match=words):
        OracleMax(**settings)


def test_an_infeasible_problem_names_the_constraints_that_have_to_give_way():
    x = cp.Variable(3)
    h = OracleMax(
        x,
        lambda x: (np.abs(x).max(), np.eye(3)[np.abs(x).argmax()] * np.sign(x[np.abs(x).argmax()])),
    )
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x[0] >= 3, h <= 1, x[1] == 0])
    assert solve(problem) == np.inf
    assert problem.status == cp.INFEASIBLE
    assert x.value is None
    stats = problem.solver_stats.extra_stats
    assert stats.lower == stats.upper == np.inf
    assert stats.conflict
    assert all(said.startswith(("constraint 0, ", "constraint 1, ")) for said in stats.conflict)


def test_a_problem_without_a_minimum_is_found_out():
    x, y = cp.Variable(3), cp.Variable()
    free = cp.Problem(cp.Minimize(y + OracleMax(x, highest) + cp.sum_squares(x)))
    assert solve(free) == -np.inf
    assert free.status == cp.UNBOUNDED
    only_one_plane = OracleMax(x, lambda x: (x.sum(), np.ones(3)))
    with pytest.raises(MasterError, match=r"add bounds of its variables, such as cp.norm_inf"):
        solve(cp.Problem(cp.Minimize(only_one_plane)))
    bounded = cp.Problem(cp.Minimize(only_one_plane), [cp.norm_inf(x) <= 1000])
    assert solve(bounded) == pytest.approx(-3000)


def test_integers_and_squares_that_no_solver_takes_name_a_way_out():
    x = cp.Variable(3, integer=True)
    problem = cp.Problem(cp.Minimize(OracleMax(x, highest) + cp.sum_squares(x - 0.3)))
    with pytest.raises(SettingsError, match=r"HIGHS.*write cp.norm1"):
        solve(problem, solver="HIGHS")


def test_integers_without_a_solver_for_them_are_refused(monkeypatch):
    x = cp.Variable(3, integer=True)
    problem = cp.Problem(cp.Minimize(OracleMax(x, highest)), [cp.norm_inf(x) <= 2])
    with pytest.raises(SettingsError, match="which solver='CLARABEL' does not take; these do"):
        solve(problem, solver="CLARABEL")
    monkeypatch.setattr("structsvm.modeling.method.mixed_integer_solvers", list)
    with pytest.raises(SettingsError, match="no mixed-integer solver is installed"):
        solve(problem)


def test_a_run_that_is_too_short_says_so():
    problem = problem_of(highest)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        solve(problem, max_iter=1, tol=1e-12)
    assert problem.status == cp.USER_LIMIT
    stats = problem.solver_stats.extra_stats
    assert stats.lower <= stats.upper == problem.value


def test_a_run_that_found_no_point_says_so():
    x = cp.Variable(3)

    def ball(x):  # |x|^2, whose planes are many
        return x @ x, 2 * x

    problem = cp.Problem(cp.Minimize(cp.sum(x)), [OracleMax(x, ball) <= 1, cp.norm_inf(x) <= 50])
    x.value = np.full(3, 40.0)
    with pytest.warns(ConvergenceWarning, match="no point that keeps the constraints was found"):
        assert solve(problem, max_iter=2, tol=1e-9) == np.inf
    assert problem.status == cp.USER_LIMIT
    assert problem.solver_stats.extra_stats.lower <= -np.sqrt(3)


def test_ctrl_c_gives_the_best_point_so_far():
    problem = problem_of(highest)
    seen = []

    def stop(entry):
        seen.append(entry)
        os.kill(os.getpid(), signal.SIGINT)

    value = solve(problem, tol=1e-12, callback=stop)
    assert problem.status == cp.USER_LIMIT
    stats = problem.solver_stats.extra_stats
    assert "interrupted" in stats.status
    assert stats.lower <= value == stats.upper
    (x,) = problem.variables()
    assert value == pytest.approx(float((ROWS @ x.value).max() + ((x.value - 1) ** 2).sum()))
    assert solve(problem) <= value


def test_ctrl_c_after_the_last_round_does_not_lose_what_was_found(monkeypatch):
    """It comes while the run warns that it was too short."""
    problem = problem_of(highest)
    monkeypatch.setattr(warnings, "showwarning", lambda *_: signal.raise_signal(signal.SIGINT))
    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        with pytest.raises(KeyboardInterrupt):
            solve(problem, max_iter=1, tol=1e-12)
    (x,) = problem.variables()
    assert problem.value == problem.solver_stats.extra_stats.upper
    assert problem.value == pytest.approx(
        float((ROWS @ x.value).max() + ((x.value - 1) ** 2).sum())
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_that_a_solver_takes_gives_the_best_point_so_far():
    """SCS answers it itself, and says that it failed."""
    problem = problem_of(highest)
    endless = {"eps_abs": 1e-300, "eps_rel": 1e-300, "max_iters": 10**9}
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    value = solve(problem, solver="SCS", **endless)
    timer.join()
    stats = problem.solver_stats.extra_stats
    assert "interrupted" in stats.status
    assert stats.lower <= value == stats.upper
    assert solve(problem) <= value


def test_verbose_prints_a_line_for_each_round(capsys):
    problem = problem_of(highest)
    solve(problem, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == problem.solver_stats.num_iters
    assert lines[0].startswith("round 1: between")


@pytest.mark.filterwarnings("ignore:stalled", "ignore:stopped because the master failed")
def test_a_problem_with_a_point_is_not_called_infeasible_for_its_large_numbers():
    for seed in range(4, 9):
        rng = np.random.default_rng(seed)
        A, c = 1e8 * rng.normal(size=(200, 5)), 1e8 * rng.normal(size=200)
        x = cp.Variable(5)
        x.value = rng.normal(size=5) * 10.0 ** rng.integers(-3, 5)

        def oracle(at, A=A, c=c):
            k = (A @ at + c).argmax()
            return A[k] @ at + c[k], A[k]

        objective = cp.Minimize(OracleMax(x, oracle) + 1e7 * cp.norm1(x))
        problem = cp.Problem(objective, [x <= 0.1, cp.sum(x) >= -0.2])
        try:
            solve(problem)
        except MasterError:
            continue
        assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
