"""A version that publishing would not make again: an export leaves it out, and `diff` shows it."""

import pytest

from emulator.deploy.export import comparison
from emulator.deploy.export.comparison import OTHER, THERE, THIS, compare
from emulator.deploy.export.resources import portable
from emulator.deploy.inventory import OUTDATED, is_outdated
from emulator.deploy.model import Blueprint, Entry, Record, Resource
from emulator.deploy.provider import ActualState
from tests.unit.deploy.conftest import WORLD

V2, V3 = "/2016-08-15/services", "/2023-03-30/functions"


class Answers:
    """An `ApiClient` that answers as *known*, by path."""

    def __init__(self, **known):
        self.known = known

    def functions(self, method, path, body=None):
        """Answer; a list has one page."""
        return self.known[path.removesuffix("?limit=100")]


def described(checksum, memory=128, **own):
    return {"functionName": "f", "codeChecksum": checksum, "memorySize": memory, **own}


@pytest.mark.parametrize(
    ("now", "outdated"),
    [
        (described("1", description="", lastModifiedTime="later"), False),
        (described("2"), True),
        (described("1", memory=512), True),
    ],
    ids=["same", "other code", "other memory"],
)
def test_version_is_outdated_when_code_or_settings_are_others(now, outdated):
    """Of a function alone, or of a service with its functions; a description is a version's own."""
    then = described("1", description="one", lastModifiedTime="then")
    service = {"serviceName": "s", "role": ""}
    api = Answers(
        **{
            f"{V3}/f": now, f"{V3}/f?qualifier=3": then,
            f"{V2}/s": service, f"{V2}/s.3": {**service, "description": "one"},
            f"{V2}/s/functions": {"functions": [now]}, f"{V2}/s.3/functions": {"functions": [then]},
        }
    )  # fmt: skip

    assert is_outdated(api, "fc3.version", "f", "3") is outdated
    assert is_outdated(api, "fc.version", "s", "3") is outdated


def test_function_that_came_after_the_version_makes_it_outdated():
    """Publishing now would contain it."""
    service = {"serviceName": "s"}
    api = Answers(
        **{
            f"{V2}/s": service, f"{V2}/s.1": service,
            f"{V2}/s/functions": {"functions": [described("1")]}, f"{V2}/s.1/functions": {"functions": []},
        }
    )  # fmt: skip

    assert is_outdated(api, "fc.version", "s", "1")


def a_resource(kind, *identity, **properties):
    return Resource(logical="/".join(identity), type=kind, kind=kind, identity=identity, properties=properties)


def test_outdated_version_is_left_out_with_its_aliases():
    """Made of the present code, the alias would lead to another program without anybody having said so."""
    world = [
        a_resource("fc3.function", "f"),
        a_resource("fc3.version", "f", "version", VersionId="2", Older="", **{OUTDATED: "yes"}),
        a_resource("fc3.alias", "f", "live", versionId="2"),
        a_resource("fc3.alias", "f", "next", versionId="LATEST"),
    ]

    made = portable(world, WORLD.account, WORLD.region)

    assert [each.identity for each in made.resources] == [("f",), ("f", "next")]
    assert made.notes == (
        "fc3 version f/2: a version of other code or settings than the present ones; left out",
        "fc3 alias f/live: it leads to a version that is not made again; left out",
    )


class Unchanged:
    """A provider of whose resources only those *gone* do not exist, and none disagrees."""

    def __init__(self, gone=()):
        self.gone = gone

    def find(self, api, identity, attributes):
        return None if identity[0] in self.gone else ActualState({"versionId": "1"})

    def attributes(self, actual):
        return {}

    newest = disagreements = lambda self, *_: {}


def compared(monkeypatch, provider, record, *resources):
    monkeypatch.setattr(comparison, "PROVIDERS", {"mns.queue": provider, "fc3.version": provider})
    api = Answers(**{f"{V3}/f": described("2"), f"{V3}/f?qualifier=1": described("1")})
    blueprint = Blueprint(resources=resources, outputs={})
    return compare(api, blueprint, record, WORLD.account, WORLD.region, others=False).differences


def test_diff_shows_an_outdated_version(monkeypatch):
    """A deployment leaves it as it is: a version never changes."""
    (found,) = compared(monkeypatch, Unchanged(), Record(name="d"), a_resource("fc3.version", "f", "version"))

    assert (found.path, found.file, found.running) == ("code", THIS, OTHER)


def test_diff_shows_what_a_deployment_would_delete(monkeypatch):
    """What it has made, if it is still there and the file no longer has it."""
    entries = [
        Entry(logical=name, type="Queue", kind="mns.queue", identity=(name,), digest="", status="", made=made,
              attributes={})
        for name, made in (("kept", True), ("dropped", True), ("found", False), ("gone", True))
    ]  # fmt: skip
    record = Record(name="d", entries=tuple(entries))

    found = compared(monkeypatch, Unchanged(gone=("gone",)), record, a_resource("mns.queue", "kept"))

    assert [(each.resource.logical, each.file, each.running, each.is_dropped) for each in found] == [
        ("dropped", None, THERE, True)
    ]
