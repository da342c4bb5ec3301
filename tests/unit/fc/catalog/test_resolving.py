"""What configurations of both generations say about a function's own program."""

import pytest

from emulator.services.fc.catalog.resolving import command_of, container_of, health_check_of
from emulator.services.fc.model import FunctionConfig
from emulator.services.fc.runtime.model import Container, HealthCheck


def config(**fields):
    """A custom runtime's configuration."""
    return FunctionConfig(**({"runtime": "custom", "handler": "h"} | fields))


@pytest.mark.parametrize(
    ("struct", "command"),
    [
        (None, ()),
        ({}, ()),
        ({"command": ["java"], "args": ["-jar", "app.jar"]}, ("java", "-jar", "app.jar")),
        ({"command": None, "args": ["--verbose"]}, ("--verbose",)),
    ],
)
def test_command_and_arguments_are_one_line(struct, command):
    """Nothing means the default."""
    assert command_of(config(custom_runtime=struct)) == command


@pytest.mark.parametrize(
    "place",
    [
        lambda check: {"health_check": check},
        lambda check: {"custom_runtime": {"healthCheckConfig": check}},
        lambda check: {"custom_container": {"image": "i", "healthCheckConfig": check}},
    ],
    ids=["2.0", "3.0 runtime", "3.0 container"],
)
def test_health_check_is_found_where_the_generation_has_it(place):
    """Absent numbers are the documented ones."""
    found = health_check_of(config(**place({"httpGetUrl": "/ready", "periodSeconds": 7})))

    assert found == HealthCheck(
        path="/ready", initial_delay_s=0, period_s=7, timeout_s=1, failure_threshold=3, success_threshold=1
    )


@pytest.mark.parametrize("check", [None, {}, {"periodSeconds": 3}])
def test_health_check_without_a_path_is_none(check):
    """There is nothing to ask."""
    assert health_check_of(config(health_check=check)) is None


@pytest.mark.parametrize(
    ("struct", "container"),
    [
        (None, None),
        ({}, None),
        ({"image": "i"}, Container(image="i")),
        (
            {"image": "i", "command": '["a", "b"]', "args": '["c"]'},
            Container(image="i", entrypoint=("a", "b"), command=("c",)),
        ),
        ({"image": "i", "command": "a", "args": ""}, Container(image="i", entrypoint=("a",))),
        (
            {"image": "i", "command": '["a"]', "webServerMode": False},
            Container(image="i", entrypoint=("a",), web_server=False),
        ),
        (
            {"image": "i", "entrypoint": ["a"], "command": ["b", "c"]},
            Container(image="i", entrypoint=("a",), command=("b", "c")),
        ),
        ({"image": "i", "command": ["b"]}, Container(image="i", command=("b",))),
    ],
)
def test_container_is_the_same_in_both_generations(struct, container):
    """Texts that hold arrays are those of 2.0, whose command is the entry point of 3.0."""
    assert container_of(config(custom_container=struct)) == container
