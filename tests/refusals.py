"""What is refused, and the message that says why: a test of it in one table."""

from inspect import Parameter, Signature, signature

import pytest


def refused(error, call, *cases):
    """Return a test that each case of a call is refused: its arguments, and last the message.

    What the call takes and a case does not give is a fixture.
    """
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    asked = list(signature(call).parameters)
    given = asked[len(asked) + 1 - len(rows[0]) :]

    def test(message, **arguments):
        with pytest.raises(error, match=message):
            call(**arguments)

    names = [*asked, "message"]
    test.__signature__ = Signature([Parameter(name, Parameter.KEYWORD_ONLY) for name in names])
    return staticmethod(pytest.mark.parametrize((*given, "message"), rows)(test))
