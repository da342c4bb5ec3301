"""Declared operations are found by name, and by method, path and query."""

import sys

import pytest

from emulator.wire.operation import Actions, Routes, operation, operations_of


@operation("ListThings", "GET /things")
@operation("ListHidden", "GET /things?hidden=true")
def list_things(service, call):
    """List the things.

    Raises: nothing.
    """


@operation("GetThing", "GET /things/{thing}")
def get_thing(service, call):
    """Answer one thing."""


DECLARED = operations_of(sys.modules[__name__])


def test_operations_come_in_the_order_of_their_declaration():
    """Documentation and tables of operations follow it."""
    assert [each.name for each in DECLARED] == ["ListThings", "ListHidden", "GetThing"]
    assert [each.name for each in Actions(DECLARED)] == ["ListThings", "ListHidden", "GetThing"]
    assert [each.name for each in Routes(DECLARED)] == ["ListThings", "ListHidden", "GetThing"]


def test_an_operation_knows_its_path_and_its_first_sentence():
    """Rights are about the path, lists show the sentence."""
    assert [each.path for each in DECLARED] == ["/things", "/things", "/things/{thing}"]
    assert DECLARED[1].summary == "List the things."


@pytest.mark.parametrize("name", ["GetThing", "getthing", "GETTHING"])
def test_actions_are_found_in_any_case(name):
    """One official client capitalises the names itself."""
    assert Actions(DECLARED).find(name) is DECLARED[2]


@pytest.mark.parametrize(
    ("method", "path", "query", "name"),
    [
        ("GET", "/things", {}, "ListThings"),
        ("GET", "/things/", {"hidden": "false"}, "ListThings"),
        ("GET", "/things", {"hidden": "true"}, "ListHidden"),
        ("GET", "/things/a%2Fb", {}, "GetThing"),
    ],
)
def test_the_most_particular_route_wins(method, path, query, name):
    """A query item that a route asks for counts before the path alone."""
    declared, _ = Routes(DECLARED).find(method, path, query)

    assert declared.name == name


def test_path_parameters_are_decoded():
    """An escaped slash does not part segments."""
    _, parameters = Routes(DECLARED).find("GET", "/things/a%2Fb", {})

    assert parameters == {"thing": "a/b"}


@pytest.mark.parametrize(("method", "path"), [("PUT", "/things"), ("GET", "/others"), ("GET", "/things/a/b")])
def test_what_no_route_fits_is_not_found(method, path):
    """The front refuses it in its own words."""
    assert Routes(DECLARED).find(method, path, {}) is None
