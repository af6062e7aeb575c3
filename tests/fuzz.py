"""`make fuzz`: draw new cases for some minutes, and keep those that find a fault in tests/corpus.

The time is shared by the property tests, each round with another seed, by random programs of cvxpy,
and by the readers of files from strangers: atheris guides these by what they execute where it is
installed, and mutations of tests/fuzz_targets.py do without it. A file that finds a fault is
written into the corpus of its target, from where every run of the tests tries it; hypothesis prints
how to reproduce its cases, which belong into the test as @example or as a test of their own.
"""

import argparse
import hashlib
import importlib.util
import inspect
import os
import random
import re
import resource
import subprocess
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).parent
MOST_MEMORY = 6 * 2**30
"""Bytes of address space; a file of a few kilobytes that needs more is a fault."""
GUIDED = re.compile(r"structsvm\.(support|io|learner|solvers)\.\w+|csv|json\.decoder")
"""The modules that atheris watches, in which nothing is compiled."""
PROGRAMS = 2000
"""Random programs of cvxpy, each compared with the explicit one (tests/drawn_programs.py)."""
LONGEST = 30
"""Seconds that one file may take."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--target", help="fuzz this reader alone, in this process")
    args = parser.parse_args()
    if args.target:
        return fuzz(args.target, 60 * args.minutes, args.seed)
    return everything(60 * args.minutes, args.seed)


def everything(seconds: float, seed: int) -> int:
    """Half of the time for files, half for properties; the number of those that failed."""
    sys.path.insert(0, str(HERE))
    from fuzz_targets import TARGETS

    print(f"seed {seed}, {seconds / 60:g} minutes", flush=True)
    failed = 0
    end = time.monotonic() + seconds
    for name in TARGETS:
        command = [sys.executable, __file__, "--target", name]
        command += ["--minutes", str(seconds / 120 / len(TARGETS)), "--seed", str(seed)]
        failed += subprocess.run(command, check=False).returncode != 0
    command = [sys.executable, str(HERE / "drawn_programs.py"), str(seed % 2**31), str(PROGRAMS)]
    try:
        done = subprocess.run(command, check=False, timeout=max(20.0, end - time.monotonic()))
        failed += done.returncode != 0
    except subprocess.TimeoutExpired:
        print("programs of cvxpy: the time is over", flush=True)
    environment = os.environ | {"STRUCTSVM_FUZZ": "1"}
    files = [*sorted(HERE.rglob("test_property_*.py")), HERE / "test_faults.py"]
    rounds = 0
    while time.monotonic() < end:
        for file in files:
            left = end - time.monotonic()
            if left < 20:
                return failed
            command = [sys.executable, "-m", "pytest", "-q", "-x", str(file)]
            command += [f"--hypothesis-seed={seed + rounds}", "-p", "no:cacheprovider"]
            try:
                done = subprocess.run(command, check=False, env=environment, timeout=left)
                failed += done.returncode != 0
            except subprocess.TimeoutExpired:
                print(f"{file.name}: the time is over, and nothing was found in it", flush=True)
        rounds += 1
    return failed


def fuzz(name: str, seconds: float, seed: int) -> int:
    """One reader, with atheris where it is installed; 0 if nothing was found."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    sys.path.insert(0, str(HERE))
    run = blind if importlib.util.find_spec("atheris") is None else guided
    return run(name, seconds, seed)


def blind(name: str, seconds: float, seed: int) -> int:
    """Mutations of what is known, without looking at what they execute."""
    from fuzz_targets import TARGETS, kept, mutated

    target, seeds = TARGETS[name]
    known = seeds() + [path.read_bytes() for path in kept(name)]
    chance = random.Random(seed)
    n = 0
    found = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = mutated(chance.choice(known), chance)
        start = time.monotonic()
        n = n + 1
        try:
            target(data)
            assert time.monotonic() - start < LONGEST, "it took too long"
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            if (type(error), where.lineno) not in found:
                found.add((type(error), where.lineno))
                traceback.print_exc()
                keep(name, data)
    print(f"{name}: {n} mutations, {len(found)} faults", flush=True)
    return len(found)


def guided(name: str, seconds: float, seed: int) -> int:
    """Guided by atheris, which ends the process at the first fault."""
    import atheris
    from fuzz_targets import CORPUS, TARGETS, mutated

    for module in list(filter(GUIDED.fullmatch, sys.modules)):
        for function in functions_of(sys.modules[module]):
            atheris.instrument_func(function)
    target, seeds = TARGETS[name]

    def one(data: bytes) -> None:
        try:
            target(data)
        except Exception:
            traceback.print_exc()
            keep(name, data)
            raise

    def other(data: bytes, most: int, number: int) -> bytes:
        chance = random.Random(number)
        made = atheris.Mutate(data, most) if chance.random() < 0.5 else mutated(data, chance)
        return made[:most]

    scratch = Path(os.environ.get("TMPDIR", "/tmp")) / f"structsvm-fuzz-{os.getpid()}"
    scratch.mkdir()
    for number, data in enumerate(seeds()):
        (scratch / f"seed-{number}").write_bytes(data)
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={max(1, round(seconds))}",
        f"-seed={seed % 2**31}",
        f"-timeout={LONGEST}",
        "-rss_limit_mb=4096",
        f"-max_len={2 * max(map(len, seeds()))}",
        f"-artifact_prefix={scratch}/",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    arguments = [sys.argv[0], *options, str(scratch), str(CORPUS / name)]
    atheris.Setup(arguments, one, custom_mutator=other)
    atheris.Fuzz()
    return 0


def functions_of(module):
    """The functions and methods that a module defines."""
    for thing in vars(module).values():
        if getattr(thing, "__module__", None) != module.__name__:
            continue
        members = vars(thing).values() if inspect.isclass(thing) else [thing]
        yield from (member for member in members if inspect.isfunction(member))


def keep(name: str, data: bytes) -> None:
    """Put a case into the corpus, once."""
    folder = HERE / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:12]}"
    if not path.exists():
        path.write_bytes(data)
        print(f"kept in {path}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
