"""Files of whatever content, and what reading them may come to: shared by the tests of both kinds of file."""

from hypothesis import strategies as st

from emulator.deploy.model import FileProblems
from emulator.deploy.places import Findings, LocatedValue
from emulator.deploy.planner import read


def values_of(words):
    """Return a strategy of values of a file in which *words* stand about."""
    return st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | words,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
        max_leaves=25,
    )


def refusals_of(value, target, folder):
    """Read a file that says *value* and return the problems it is refused with; no other error comes out."""
    try:
        read(LocatedValue(value, (), {}, Findings()), target, folder, {}, {})
    except FileProblems as error:
        return error.problems
    return ()


def replaced(value, data, values):
    """Return *value* with one part of it, drawn, replaced by one of *values*."""
    if isinstance(value, (dict, list)) and value and data.draw(st.integers(0, 5)):
        key = data.draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
        copy = value.copy()
        copy[key] = replaced(value[key], data, values)
        return copy
    return data.draw(values)
