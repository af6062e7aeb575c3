"""What threads of a session do in turn, one of them does at a time."""

from __future__ import annotations

import numpy as np

from structsvm.parallel import Serial, Session, Threads
from structsvm.parallel.base import in_turn

TIMES = 200


class Meeting:
    """Counts how often somebody is found inside."""

    def __init__(self) -> None:
        self.inside = self.met = 0

    def enter(self) -> None:
        """Come in, let go of the interpreter's lock as small calls of NumPy do, and leave."""
        self.met += self.inside
        self.inside += 1
        np.add.reduce(np.ones(10_000))
        self.inside -= 1


def enter_in_turn(part: int, meeting: Meeting) -> int:
    for _ in range(TIMES):
        with in_turn():
            meeting.enter()
    return part


def enter_twice_in_turn(part: int, meeting: Meeting) -> int:
    with in_turn():
        return enter_in_turn(part, meeting)


def met(session: Session, meeting: Meeting) -> int:
    assert session.map(enter_in_turn, meeting) == list(range(4))
    return meeting.met


def test_no_two_threads_of_a_session_have_their_turn_at_once() -> None:
    with Threads(4).open(range(4)) as session:
        assert met(session, Meeting()) == 0


def test_a_turn_within_a_turn_is_the_same_one() -> None:
    with Threads(4).open(range(4)) as session:
        assert session.map(enter_twice_in_turn, meeting := Meeting()) == list(range(4))
        assert meeting.met == 0


def test_one_session_does_not_wait_for_another_one() -> None:
    with Threads(1).open([0]) as one, in_turn(), Threads(4).open(range(4)) as other:
        assert one.map(enter_in_turn, Meeting()) == [0]
        assert met(other, Meeting()) == 0


def test_whoever_works_alone_has_every_turn() -> None:
    with Serial().open(range(4)) as session, in_turn(), in_turn():
        assert met(session, Meeting()) == 0
