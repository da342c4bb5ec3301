"""Which version a call goes to."""

from collections import Counter
from dataclasses import replace

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.services.fc.catalog.resolving import is_latest, is_version, pick
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.kinds import check_weights
from emulator.services.fc.model import Alias, Resource, Scope, check_if_match


def a_canary(condition: str, *items: tuple[str, str, str, str]) -> Alias:
    """Return an alias on version 1 whose version 2 gets what meets *items*: (type, key, operator, value)."""
    names = ("type", "key", "operator", "value")
    rules = [dict(zip(names, item, strict=True)) for item in items]
    return replace(
        an_alias(v2=0.0), resolve_policy="Content", route_policy={"condition": condition, "policyItems": rules}
    )


def a_request(target: str = "/", **headers: str) -> Request:
    """Return a request with these header fields, underscores for hyphens."""
    return Request("GET", target, Headers([(name.replace("_", "-"), value) for name, value in headers.items()]))


def an_alias(**weights: float) -> Alias:
    """Return an alias on version 1 with additional versions ``v2=0.2``."""
    return Alias(
        scope=Scope(service="s"),
        name="online",
        id="id",
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
    with pytest.raises(FcError, match=r"^PreconditionFailed:"):
        check_if_match("abd", "abc")


def test_etag_changes_with_every_revision():
    """No two revisions, and no two resources, share an ETag."""
    first, other = (Resource(id=name, created_at=Millis(0), modified_at=Millis(0)) for name in ("a", "b"))

    assert len({first.etag, first.updated(Millis(1)).etag, other.etag}) == 3


@pytest.mark.parametrize(
    ("operator", "value", "version"),
    [
        ("=", "b", "2"), ("=", "c", "1"), ("!=", "b", "1"), ("!=", "c", "2"), (">", "a", "2"), (">", "b", "1"),
        (">=", "b", "2"), ("<", "c", "2"), ("<", "b", "1"), ("<=", "b", "2"), ("in", "a,b,c", "2"), ("in", "a,c", "1"),
        ("percent", "100", "2"), ("percent", "0", "1"), ("percent", "many", "1"), ("like", "b", "1"),
    ],
)  # fmt: skip
def test_content_decides_by_the_operator(operator: str, value: str, version: str):
    """The request's value stands on the left of the operator, and texts are compared as texts."""
    alias = a_canary("AND", ("Header", "X-Uid", operator, value))

    assert pick(alias, 0.0, a_request(x_uid="b")) == version


@pytest.mark.parametrize("kind", ["Header", "Cookie", "Query"])
def test_content_is_looked_for_in_header_cookie_and_query(kind: str):
    """Each rule tells where its value is; elsewhere it does not count."""
    alias = a_canary("AND", (kind, "uid", "=", "7"))
    requests = {
        "Header": a_request(uid="7"),
        "Cookie": a_request(cookie="a=b; uid=7"),
        "Query": a_request("/?uid=7"),
    }

    assert {name: pick(alias, 0.0, request) for name, request in requests.items()} == {
        name: "2" if name == kind else "1" for name in requests
    }


@pytest.mark.parametrize(("condition", "version"), [("AND", "1"), ("OR", "2")])
def test_content_has_to_meet_all_rules_or_one(condition: str, version: str):
    """One of the two rules holds."""
    alias = a_canary(condition, ("Header", "a", "=", "1"), ("Header", "b", "=", "1"))

    assert pick(alias, 0.0, a_request(a="1", b="2")) == version


def test_content_that_is_not_there_meets_no_rule():
    """A missing value is not unequal, a call without a request and an alias without rules go to the main version."""
    unequal = a_canary("AND", ("Header", "a", "!=", "1"))

    assert [pick(unequal, 0.0, a_request()), pick(unequal, 0.0)] == ["1", "1"]
    assert pick(a_canary("AND"), 0.0, a_request(a="1")) == "1"


def test_a_percentage_of_the_values_goes_to_the_additional_version():
    """A fifth of many users, and each of them always or never."""
    alias = a_canary("AND", ("Header", "uid", "percent", "20"))
    chosen = Counter(pick(alias, 0.0, a_request(uid=str(user))) for user in range(5000))

    assert 800 < chosen["2"] < 1200
    assert len({pick(alias, draw, a_request(uid="42")) for draw in (0.0, 0.5, 0.9)}) == 1
