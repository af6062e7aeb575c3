"""A plugin with a missing or ill-shaped method is refused, and sees the definition expected."""

import pickle

import numpy as np
import pytest

from structsvm import ChangePoint
from structsvm.errors import PluginError
from structsvm.problem import Problem
from structsvm.weights import Free


class Forgetful(Problem):
    """Knows neither its loss nor inference."""

    def weight_space(self):
        return Free(2)

    def joint_feature(self, x, y):
        return np.zeros(2)

    def separate(self, w, x, y):
        raise NotImplementedError


def test_missing_definitions_are_shown_when_an_instance_is_made() -> None:
    with pytest.raises(PluginError) as refusal:
        Forgetful()
    assert str(refusal.value) == "Forgetful lacks loss, predict: define them as in Problem"


def test_instances_are_made_and_pickled_as_usual() -> None:
    problem = ChangePoint(kappa=0.5)
    assert pickle.loads(pickle.dumps(problem)) == problem
    with pytest.raises(TypeError, match="unexpected keyword argument 'spam'"):
        ChangePoint(spam=1)
    with pytest.raises(TypeError):
        Forgetful(1, 2)
