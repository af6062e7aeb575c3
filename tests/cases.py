"""Tables of cases: what a test is given, row by row, and what is refused with which message."""

from inspect import Parameter, Signature, signature

import pytest


def entries_of(table):
    """Return a decorator that puts a function into a table under a name."""

    def named(name):
        def added(function):
            table[name] = function
            return function

        return added

    return named


class Bomb:
    """An object that fails the test when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


def cases(*rows, ids=None):
    """Give a test its last arguments: each row is a tuple of several, or a value of one alone."""
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]

    def of(test):
        names = tuple(signature(test).parameters)[-len(rows[0]) :]
        return pytest.mark.parametrize(names, rows, ids=ids)(test)

    return of


def refused(error, call, *rows):
    """Return a test that each case of a call is refused: its arguments, and last the message.

    What the call takes and a case does not give is a fixture.
    """

    def test(message, **arguments):
        with pytest.raises(error, match=message):
            call(**arguments)

    names = [*signature(call).parameters, "message"]
    test.__signature__ = Signature([Parameter(name, Parameter.KEYWORD_ONLY) for name in names])
    return staticmethod(cases(*rows)(test))
