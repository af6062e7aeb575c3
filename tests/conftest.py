"""What every test shares: one thread per library, the shared data, no skip in CI."""

import gc
import os
import signal
import sys
from copy import deepcopy
from pathlib import Path

import pytest

# Before the first import of numpy or numba: the matrices of the tests are small, and joblib's
# workers would otherwise start one pool of threads each.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("NUMBA_NUM_THREADS", str(min(2, os.cpu_count() or 1)))
os.environ.setdefault("MPLBACKEND", "Agg")
# A cluster of Dask that waits for the next test looks after itself now and then, not fifty times a
# second, which took an eighth of the time of all tests.
for _variable, _value in {
    "ADMIN__TICK__INTERVAL": "1s",
    "ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
    "CLIENT__HEARTBEAT": "60s",
    "CLIENT__SCHEDULER_INFO_INTERVAL": "60s",
    "SCHEDULER__ACTIVE_MEMORY_MANAGER__START": "False",
    "WORKER__MEMORY__MONITOR_INTERVAL": "10s",
    "WORKER__MULTIPROCESSING_METHOD": "forkserver",
    "WORKER__PROFILE__ENABLED": "False",
}.items():
    os.environ.setdefault(f"DASK_DISTRIBUTED__{_variable}", _value)
# Tests are rewritten and compiled once, and so is the library for processes that start anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# What a shell starts in the background ignores SIGINT, and so do the processes it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CHECKOUT = Path(__file__).resolve().parents[1]
SHARED_DATA = Path(os.environ.get("STRUCTSVM_DATA") or CHECKOUT.parent / "shared" / "data")
SHARED_SETS = (
    "har_spsw",
    "hasc1",
    "mocap6",
    "neuroblastoma",
    "skab",
    "tables",
    "tep",
    "tssb",
    "weizmann_horse",
)
SLOW = frozenset(
    line
    for line in (CHECKOUT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false"}


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect no garbage among thousands of tests, which stay: it took a third of the time.

    Nor is any looked for among them later.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    """Mark what `make quick` leaves out."""
    for item in items:
        file = item.path.relative_to(CHECKOUT).as_posix()
        names = item.nodeid.partition("[")[0].split("::")[1:]  # a class and its test, or a test
        above = ("::".join((file, *names[: i + 1])) for i in range(len(names)))
        if not SLOW.isdisjoint((file, f"{file}::{item.nodeid.partition('::')[2]}", *above)):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def fields():
    """Refuse f-strings that a message with fields is put into: they keep its words alone."""
    from structsvm.errors import Text

    def refuse(text, spec):
        assert all(isinstance(part, str) for part in text.parts), f"add it by +: {text.parts}"
        return str(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "__format__", refuse, raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def few_trees():
    """Let classifiers by name have ten trees: what is said of them holds for ten as for a hundred.

    All tests together spent more on trees than on anything else. Processes of their own have as
    many as users have.
    """
    from structsvm.baselines import row_classifier
    from structsvm.features.frames import CLASSIFIERS

    usual = deepcopy(CLASSIFIERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(CLASSIFIERS["boosting"][1], "max_iter", 10)
        patch.setitem(CLASSIFIERS["fast-boosting"][1], "max_iter", 10)
        patch.setitem(CLASSIFIERS["window-boosting"][1], "max_iter", 10)
        patch.setitem(CLASSIFIERS["forest"][1], "n_estimators", 10)
        patch.setattr(row_classifier, "N_TREES", 10)
        yield usual


@pytest.fixture
def all_trees(monkeypatch, few_trees):
    """Let classifiers by name have as many trees as users have."""
    monkeypatch.setattr("structsvm.features.frames.CLASSIFIERS", few_trees)


@pytest.fixture
def rng():
    """Return a seeded generator."""
    import numpy as np

    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def client():
    """Return a client of Dask, with two workers, which are threads of this process.

    What they are sent is written and read again as between machines. They end with the module: a
    cluster that waits for the next test sends heartbeats twice a second.
    """
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def browser():
    """Return a headless Chromium."""
    from browsers import chromium

    with chromium() as driver:
        yield driver


@pytest.fixture
def closed_figures():
    """Close the figures that a test draws."""
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture
def backend(request):
    """Return what makes a backend of two workers by its name."""
    from structsvm.parallel import Auto, Dask, Processes, Serial, Threads

    def of(name):
        if name == "dask":
            return Dask(request.getfixturevalue("client"))
        kinds = {"threads": Threads, "processes": Processes, "auto": Auto}
        return kinds[name](2) if name in kinds else Serial()

    return of


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of the shared recordings: $STRUCTSVM_DATA, or ../shared/data."""
    missing = [name for name in SHARED_SETS if not (SHARED_DATA / name).is_dir()]
    if missing:
        pytest.skip(
            f"{SHARED_DATA} lacks {', '.join(missing)}: set STRUCTSVM_DATA to a copy of the shared "
            "recordings (CONTRIBUTING.md says where they come from)"
        )
    return SHARED_DATA


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """In CI a skipped test is a failed one."""
    report = yield
    return _refuse_skip(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """In CI a module that skips itself is an error."""
    report = yield
    return _refuse_skip(report)


def _refuse_skip(report):
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"a test may not be skipped in CI: {_reason(report.longrepr)}"
    return report


def _reason(longrepr) -> str:
    return longrepr[-1] if isinstance(longrepr, tuple) else str(longrepr)
