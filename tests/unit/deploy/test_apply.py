"""Planning and applying, against a kind of resource that lives in a dictionary."""

from dataclasses import replace

import pytest

from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Blueprint, Record, Refused, Resource, StepFailed, from_object, to_object, token
from emulator.deploy.planner import Action, Interrupted, apply, entry_under_way, missing_receivers, plan, removal
from emulator.deploy.provider import ActualState


class Shelf:
    """Resources in a dictionary; what is *broken* refuses the call that would make, change or delete it."""

    renews = goes_first = False

    def __init__(self, **content):
        self.content = dict(content)
        self.broken = set()
        self.calls = []

    def _call(self, action, name):
        self.calls.append(f"{action} {name}")
        if name in self.broken:
            raise Refused(400, "Broken", "it is broken")

    def find(self, api, identity, attributes):
        found = self.content.get(identity[0])
        return None if found is None else ActualState(dict(found))

    def create(self, api, resource):
        self._call("create", resource.identity[0])
        self.content[resource.identity[0]] = dict(resource.properties)
        return ActualState(dict(resource.properties))

    def update(self, api, resource, actual):
        self._call("update", resource.identity[0])
        self.content[resource.identity[0]] = dict(resource.properties)
        return ActualState(dict(resource.properties))

    def delete(self, api, identity, attributes):
        self._call("delete", identity[0])
        self.content.pop(identity[0], None)

    def differs(self, api, resource, actual):
        return dict(resource.properties) != actual.content

    def stays(self, resource, actual):
        return False

    def is_fixed(self, resource, actual):
        return resource.properties.get("fixed") != actual.content.get("fixed")

    def saved(self, api, resource, actual):
        return replace(resource, properties=actual.content)

    def undo_update(self, api, saved, actual):
        self.update(api, saved, actual)

    def attributes(self, actual):
        return {"Size": str(actual.content.get("size"))}


def a_file(**resources):
    """A file with these resources, in this order."""
    return Blueprint(
        resources=tuple(
            Resource(logical=name, type="Thing", kind="thing", identity=(name,), properties=properties, line=line)
            for line, (name, properties) in enumerate(resources.items(), 1)
        ),
        outputs={},
    )


def deploy(shelf, blueprint, record=None):
    """Plan and apply; returns the actions and the new record."""
    record = record or Record(name="d")
    providers = {"thing": shelf}
    steps = plan(None, providers, blueprint, record)
    entries = apply(None, providers, steps, lambda step: None)
    return [(step.action.value, step.subject.logical) for step in steps.steps], replace(record, entries=entries)


def test_second_deployment_changes_nothing():
    """What is as the file says is left alone."""
    shelf = Shelf()
    _, record = deploy(shelf, a_file(a={"size": 1}, b={}))
    shelf.calls.clear()

    actions, again = deploy(shelf, a_file(a={"size": 1}, b={}), record)

    assert actions == [("unchanged", "a"), ("unchanged", "b")]
    assert shelf.calls == []
    assert again == record


def test_changed_dropped_and_drifted_resources_are_brought_back():
    """The plan compares the file with what is there, not only with what was noted."""
    shelf = Shelf()
    _, record = deploy(shelf, a_file(a={"size": 1}, b={"size": 1}, c={"size": 1}, d={"size": 1}))
    shelf.content["b"] = {"size": 9}
    del shelf.content["c"]

    actions, record = deploy(shelf, a_file(a={"size": 2}, b={"size": 1}, c={"size": 1}), record)

    assert actions == [("update", "a"), ("update", "b"), ("create", "c"), ("delete", "d")]
    assert shelf.content == {"a": {"size": 2}, "b": {"size": 1}, "c": {"size": 1}}
    assert [entry.status for entry in record.entries] == ["UPDATE_COMPLETE", "UPDATE_COMPLETE", "CREATE_COMPLETE"]


def test_what_cannot_change_is_replaced():
    """The old one goes before the new one comes."""
    shelf = Shelf()
    _, record = deploy(shelf, a_file(a={"fixed": 1}))

    actions, _ = deploy(shelf, a_file(a={"fixed": 2}), record)

    assert actions == [("replace", "a")]
    assert shelf.calls[-2:] == ["delete a", "create a"]


def test_removal_leaves_what_was_there_before():
    """A resource the deployment only found stays when the deployment goes, newest first."""
    shelf = Shelf(a={"size": 1})
    actions, record = deploy(shelf, a_file(a={"size": 1}, b={}, c={}))

    steps = removal(record)
    apply(None, {"thing": shelf}, steps, lambda step: None)

    assert actions[0] == ("unchanged", "a")
    assert [(step.action, step.subject.logical) for step in steps.steps] == [
        (Action.DELETE, "c"),
        (Action.DELETE, "b"),
        (Action.LEAVE, "a"),
    ]
    assert list(shelf.content) == ["a"]


@pytest.mark.parametrize("broken", ["made", "changed", "replaced", "gone"])
def test_failure_names_the_resource_and_leaves_everything_as_it_was(broken):
    """Whichever step fails, what was done before it is undone."""
    shelf = Shelf()
    _, record = deploy(shelf, a_file(changed={"size": 1}, replaced={"fixed": 1}, gone={"size": 1}))
    before = dict(shelf.content)
    shelf.broken.add(broken)

    with pytest.raises(StepFailed, match=rf"Thing {broken}: Broken: it is broken") as caught:
        deploy(shelf, a_file(changed={"size": 2}, replaced={"fixed": 2}, made={}), record)

    assert shelf.content == before
    assert caught.value.left == ()


def test_what_cannot_be_undone_is_told():
    """A resource that refuses to go back is named."""
    shelf = Shelf()
    original = shelf.delete

    def delete(api, identity, attributes):
        raise Refused(409, "InUse", "somebody needs it")

    shelf.delete = delete
    shelf.broken.add("b")

    with pytest.raises(StepFailed) as caught:
        deploy(shelf, a_file(a={}, b={}))

    assert [each for each in caught.value.left if "Thing a" in each and "somebody needs it" in each]
    shelf.delete = original


def test_what_cannot_be_looked_up_is_named_with_its_line():
    """A name that the service refuses shows before anything is made."""

    class Picky(Shelf):
        def find(self, api, identity, attributes):
            if identity[0] == "b":
                raise Refused(400, "BadName", "it cannot be called that")
            return super().find(api, identity, attributes)

    shelf = Picky()

    with pytest.raises(StepFailed, match=r"^line 2: Thing b: BadName: it cannot be called that$"):
        plan(None, {"thing": shelf}, a_file(a={}, b={}), Record(name="d"))

    assert shelf.calls == []


def test_interruption_is_undone_too():
    """Ctrl-C in the middle leaves what was there."""
    shelf = Shelf()

    def interrupted(step):
        if step.subject.logical == "b":
            raise KeyboardInterrupt

    steps = plan(None, {"thing": shelf}, a_file(a={}, b={}), Record(name="d"))
    with pytest.raises(KeyboardInterrupt):
        apply(None, {"thing": shelf}, steps, interrupted)

    assert shelf.content == {}


def test_second_interruption_ends_the_undoing_and_what_is_left_is_named():
    """Last first: what is being undone at that moment counts as left."""
    shelf = Shelf()
    original = shelf.delete

    def delete(api, identity, attributes):
        if identity[0] == "b":
            raise KeyboardInterrupt
        original(api, identity, attributes)

    def interrupted(step):
        if step.subject.logical == "d":
            raise KeyboardInterrupt

    shelf.delete = delete
    steps = plan(None, {"thing": shelf}, a_file(a={}, b={}, c={}, d={}), Record(name="d"))
    with pytest.raises(Interrupted) as caught:
        apply(None, {"thing": shelf}, steps, interrupted)

    assert caught.value.step == "line 4: create Thing d"
    assert caught.value.left == ("line 2: create Thing b", "line 1: create Thing a")
    assert set(shelf.content) == {"a", "b"}


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize("fixed", [1, 2])  # with 2 the first that is made and deleted is a replacement
@pytest.mark.parametrize("action", ["create", "update", "delete"])
def test_call_that_is_interrupted_is_undone_whether_or_not_it_was_done(action, fixed, is_done):
    """Ctrl-C can come after the request and before its answer."""
    shelf = Shelf()
    _, record = deploy(shelf, a_file(kept={}, changed={"size": 1}, gone={"size": 2}, whole={"fixed": 1}))
    before = dict(shelf.content)

    def interrupt(name):
        original = getattr(shelf, name)

        def interrupted(*arguments):
            setattr(shelf, name, original)
            if is_done:
                original(*arguments)
            raise KeyboardInterrupt

        setattr(shelf, name, interrupted)

    steps = plan(None, {"thing": shelf}, a_file(kept={}, changed={"size": 3}, whole={"fixed": fixed}, new={}), record)
    interrupt(action)
    with pytest.raises(KeyboardInterrupt):
        apply(None, {"thing": shelf}, steps, lambda step: None)

    assert shelf.content == before


def test_interrupted_deployment_owns_what_it_was_about_to_make():
    """The note written before applying makes a later deployment remove what was made, whether or not it knew."""
    shelf = Shelf(b={})
    steps = plan(None, {"thing": shelf}, a_file(a={}, b={}), Record(name="d"))
    noted = Record(name="d", entries=tuple(filter(None, map(entry_under_way, steps.steps))))
    shelf.content["a"] = {}

    actions, record = deploy(shelf, a_file(a={}, b={}), noted)

    assert actions == [("update", "a"), ("unchanged", "b")]
    assert [(entry.logical, entry.made) for entry in record.entries] == [("a", True), ("b", False)]


def test_attribute_of_a_resource_made_in_the_same_run_is_filled_in():
    """The token becomes the value once the other resource is there, and costs no update the next time."""
    shelf = Shelf()
    blueprint = a_file(a={"size": 3}, b={"of": f"<{token('a', 'Size')}>"})

    _, record = deploy(shelf, blueprint)
    actions, _ = deploy(shelf, blueprint, record)

    assert shelf.content["b"] == {"of": "<3>"}
    assert actions == [("unchanged", "a"), ("unchanged", "b")]


def test_record_is_the_same_after_its_journey():
    """What is written to the emulator and read back is what was known."""
    _, record = deploy(Shelf(), a_file(a={"size": 1}))

    assert from_object(to_object(record)) == record


def test_receivers_that_nobody_has_are_found():
    """A queue that neither the file nor the emulator has is one, and so is one that the deployment takes away."""
    arn = "acs:mns:cn-hangzhou:123456:/queues/"
    there = Shelf(old={}, kept={})
    _, record = deploy_kind(there, "mns.queue", old={})
    calls = {
        "onSuccess": {"destination": f"{arn}made/messages"},
        "onFailure": {"destination": "acs:fc:cn-hangzhou:123456:services/s.LATEST/functions/f"},
    }
    blueprint = Blueprint(
        resources=(
            a_kind("fc3.async", "worker", destinationConfig=calls),
            a_kind("mns.queue", "made"),
            *(a_kind("mns.subscription", name, Endpoint=f"{arn}{name}") for name in ("old", "kept")),
            a_kind("mns.subscription", "web", Endpoint="http://127.0.0.1/"),
            a_kind("fc3.trigger", "news", triggerType="mns_topic", sourceArn="acs:mns:cn-hangzhou:123456:/topics/news"),
        ),
        outputs={},
    )
    kinds = ("mns.subscription", "mns.topic", "fc3.async", "fc3.trigger", "fc.function")
    providers = {"mns.queue": there, **{kind: Shelf() for kind in kinds}}
    for kind, shelf in providers.items():
        shelf.receivers, shelf.needs_receivers = PROVIDERS[kind].receivers, PROVIDERS[kind].needs_receivers

    missing = list(missing_receivers(None, providers, plan(None, providers, blueprint, record)))

    assert [(each.resource.logical, each.type, each.name, each.is_refused) for each in missing] == [
        ("worker", "fc function", "s/f", False),
        ("old", "mns queue", "old", False),
        ("news", "mns topic", "news", True),
    ]


def a_kind(kind, name, **properties):
    return Resource(logical=name, type=kind, kind=kind, identity=(name,), properties=properties)


def deploy_kind(shelf, kind, **names):
    """Deploy resources of a kind to a shelf that is empty first; returns the steps and the record."""
    shelf.content = {name: value for name, value in shelf.content.items() if name not in names}
    blueprint = Blueprint(resources=tuple(a_kind(kind, name) for name in names), outputs={})
    steps = plan(None, {kind: shelf}, blueprint, Record(name="d"))
    return steps, Record(name="d", entries=apply(None, {kind: shelf}, steps, lambda step: None))
