"""Which version a call goes to."""

import pytest

from emulator.kernel.clock import Millis
from emulator.services.fc.errors import InvalidArgument, PreconditionFailed
from emulator.services.fc.model import Alias, Scope, etag
from emulator.services.fc.versions import check_if_match, check_weights, is_latest, is_version, pick


def an_alias(**weights: float) -> Alias:
    """Return an alias on version 1 with additional versions ``v2=0.2``."""
    return Alias(
        scope=Scope(service="s"),
        name="online",
        alias_id="id",
        version_id="1",
        created_at=Millis(0),
        modified_at=Millis(0),
        weights={version[1:]: weight for version, weight in weights.items()},
    )


@pytest.mark.parametrize(("draw", "version"), [(0.0, "2"), (0.1999, "2"), (0.2, "1"), (0.9999, "1"), (1.0, "1")])
def test_share_of_the_draws_goes_to_the_additional_version(draw: float, version: str):
    """A weight of 0.2 takes the draws below 0.2, the main version takes the rest."""
    assert pick(an_alias(v2=0.2), draw) == version


@pytest.mark.parametrize(("weight", "draw", "version"), [(0.0, 0.0, "1"), (1.0, 0.9999, "2")])
def test_weights_of_none_and_all_are_exact(weight: float, draw: float, version: str):
    """A weight of 0 never gets a call, a weight of 1 all of them."""
    assert pick(an_alias(v2=weight), draw) == version


def test_alias_without_additional_version_always_goes_to_its_own():
    """No weights, no draw."""
    assert pick(an_alias(), 0.0) == "1"


@pytest.mark.parametrize("value", [{"2": 1.1}, {"2": -0.1}, {"2": "0.5"}, {"x": 0.5}, {"2": 0.1, "3": 0.1}, [], "x"])
def test_impossible_weights_are_refused(value: object):
    """Weights are numbers from 0 to 1 for at most one version id."""
    with pytest.raises(InvalidArgument, match="additionalVersionWeight"):
        check_weights(value, "additionalVersionWeight")


def test_qualifiers_are_told_apart():
    """Nothing and LATEST mean the head, digits a version."""
    assert is_latest(None)
    assert is_latest("LATEST")
    assert not is_latest("latest")
    assert is_version("12")
    assert not is_version("online")


@pytest.mark.parametrize("given", ["", "*", "abc", '"abc"', " abc "])
def test_matching_or_missing_precondition_lets_a_change_go_on(given: str):
    """No If-Match, a star and the current ETag, quoted or not, all pass."""
    check_if_match(given, "abc")

    assert given.strip(' "*') in {"", "abc"}


def test_other_precondition_stops_a_change():
    """Another ETag means that somebody changed the resource in between."""
    with pytest.raises(PreconditionFailed):
        check_if_match("abd", "abc")


def test_etag_changes_with_every_revision():
    """No two revisions, and no two resources, share an ETag."""
    assert len({etag("a", 1), etag("a", 2), etag("b", 1)}) == 3
