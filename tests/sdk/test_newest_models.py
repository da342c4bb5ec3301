"""Members of the official SDKs' models that occur nowhere in the emulator: each has a reason, or is to be built."""

import ast
import functools
import importlib
import inspect
import json
import re
import uuid
from pathlib import Path

import pytest

from benchmarks.kinds import nodes
from emulator.services.fc.catalog.fields import FUNCTION_3
from emulator.services.fc.sessions.codec import CHANGED, NEW
from emulator.wire.schema.kinds import Shape
from tests.sdk.test_fc_sessions import zipped

pytestmark = pytest.mark.sdk

PACKAGE = Path(__file__).parents[2] / "emulator"
KEPT = re.compile(
    r"EventBridge|EventS|Source[A-Z]\w+Parameters|Delivery|BatchWindow|RetryStrategy|RunOptions|Job|Vendor|Metering"
    r"|Registry(Cert|Config)|Subscribe\w*Attributes"
)
"""Parts of structures that are kept as they come; `test_what_is_not_looked_into_comes_back_as_it_was` has them all."""

NO_OPERATION = re.compile(r"Timed|ResidentR|ResidentConfig|ElasticConfig|UpdateResident|ScalingStatus")
"""Models of pools and elastic scaling that no operation of the client takes or answers in full."""

ABSENT = {
    "alibabacloud_fc20230330": {
        "Function.lockInfo": "nothing is locked here",
        "FunctionLockInfo": "nothing is locked here",
        "InstanceInfo.destroyedTimeMs": "instances that have ended are not listed",
        "Session.trafficAccessToken": "undocumented, and sandboxes are not served",
        "Snapshot": "there are no micro-sandboxes",
        "DescribeRegionsRequest.AcceptLanguage": "names of regions are in one language",
        "Resource.resouceType": "a misspelt twin of resourceType",
        "GetResourceTagsOutput.resouceType": "a misspelt twin of resourceType",
    },
    "alibabacloud_fc_open20210406": {
        "ClaimGPUInstance": "there are no GPU instances to claim",
        "OpenReservedCapacity": "no capacity has been bought",
    },
    "alibabacloud_mns_open20220119": {"ClientToken": "a request that comes twice is one that changes nothing"},
    "alibabacloud_fnf20190315": {"DescribeRegionsRequest.AcceptLanguage": "names of regions are in one language"},
}


def written(model):
    """Return the names under which a model writes its members."""
    return re.findall(r"result\['([^']+)'\] =", inspect.getsource(model.to_map))


@functools.cache
def known_words():
    """Return every word of the emulator's names and texts in lower case."""
    texts = set()
    for path in PACKAGE.rglob("*.py"):
        for node in nodes(ast.parse(path.read_text(encoding="utf-8"))):
            found = (getattr(node, name, None) for name in ("value", "arg", "id", "attr"))
            texts.update(text for text in found if isinstance(text, str))
    return set(re.findall(r"[a-z0-9]+", "\n".join(texts).lower()))


@pytest.mark.parametrize("client", ABSENT)
def test_every_member_of_a_model_is_known_or_has_a_reason(client):
    """What a newer release of an SDK adds shows here first."""
    models = pytest.importorskip(f"{client}.models")
    known, reasons = known_words(), ABSENT[client]
    missing = [
        f"{name}.{member}"
        for name, model in inspect.getmembers(models, inspect.isclass)
        if hasattr(model, "to_map") and not name.endswith(("Headers", "Response"))
        if not KEPT.search(name) and not NO_OPERATION.search(name)
        for member in written(model)
        if member.lower() not in known
    ]

    unexplained = [each for each in missing if not any(reason in each for reason in reasons)]
    unneeded = [reason for reason in reasons if not any(reason in each for each in missing)]

    assert (unexplained, unneeded) == ([], [])


def shape_of(kind):
    """Return the shape that a kind of value has somewhere inside, None when it has none."""
    while kind is not None and not isinstance(kind, Shape):
        kind = getattr(kind, "kind", None)
    return kind


def missing_in(model, models, shape, place):
    """Return the members of a model that a shape has no field for, those of its parts too, by their places."""
    fields, missing = {field.name.lower(): field.kind for field in shape}, []
    kinds = {name.replace("_", "").lower(): str(each.annotation)
             for name, each in inspect.signature(model.__init__).parameters.items()}  # fmt: skip
    for member in written(model):
        if member.lower() not in fields:
            missing.append(f"{place}.{member}")
            continue
        nested = re.search(r"(?:main_)?models\.(\w+)", kinds[member.lower()])
        inner = shape_of(fields[member.lower()])
        if nested is not None and inner is not None:
            missing += missing_in(getattr(models, nested[1]), models, inner, f"{place}.{member}")
    return missing


WITHOUT_FIELDS = {
    "CreateFunctionInput": {"code", "functionName", "tags"},  # read by the operation itself
    "UpdateFunctionInput": {"code"},
}


@pytest.mark.parametrize(
    ("name", "shape"),
    [("CreateFunctionInput", FUNCTION_3), ("UpdateFunctionInput", FUNCTION_3), ("CreateSessionInput", NEW),
     ("UpdateSessionInput", CHANGED)],
    ids=lambda each: each if isinstance(each, str) else "",
)  # fmt: skip
def test_every_member_of_functions_and_sessions_has_a_field(name, shape):
    """Member by member, parts too: that a word occurs somewhere in the program is not enough."""
    models = pytest.importorskip("alibabacloud_fc20230330.models")

    missing = missing_in(getattr(models, name), models, shape, name)

    assert {each.partition(".")[2] for each in missing} == WITHOUT_FIELDS.get(name, set())


def test_member_that_a_newer_release_adds_is_named(monkeypatch):
    """Even one whose name is a common word, in a part of a part."""
    models = pytest.importorskip("alibabacloud_fc20230330.models")
    now = written
    monkeypatch.setitem(
        globals(), "written", lambda model: [*now(model), "mode"] if model is models.JuiceFsMountConfig else now(model)
    )

    missing = missing_in(models.CreateFunctionInput, models, FUNCTION_3, "it")

    assert "mode" in known_words()
    assert [each for each in missing if "juice" in each] == ["it.juiceFsConfig.mountPoints.mode"]


def filled(model, models):
    """Return an object with every member of a model, named by its place."""
    content = {}
    for name, parameter in inspect.signature(model.__init__).parameters.items():
        if name == "self":
            continue
        kind = str(parameter.annotation)
        member = next(each for each in written(model) if each.lower() == name.replace("_", "").lower())
        nested = re.search(r"(?:main_)?models\.(\w+)", kind)
        if nested is not None:
            value = filled(getattr(models, nested[1]), models)
        else:
            value = {"int": 3, "bool": True, "str": f"a-{name}"}.get(kind.strip("'"), "a")
        content[member] = [value] if "List[" in kind else {"a": value} if "Dict[" in kind else value
    return content


def test_what_is_not_looked_into_comes_back_as_it_was(emulator):
    """A trigger of an event bus with the parameters of every kind of source, whatever is in them."""
    from alibabacloud_fc20230330.client import Client

    models = importlib.import_module("alibabacloud_fc20230330.models")
    client, name = Client(emulator.tea_config()), f"m{uuid.uuid4().hex[:12]}"
    code = models.InputCodeLocation(zip_file=zipped("index.py", "def handler(event, context): pass"))
    mounts = {
        "juiceFsConfig": filled(models.JuiceFsConfig, models),
        "polarFsConfig": filled(models.PolarFsConfig, models),
        "microSandboxConfig": filled(models.MicroSandboxConfig, models),
    }
    body = models.CreateFunctionInput().from_map(
        {"functionName": name, "runtime": "python3.12", "handler": "index.handler", **mounts}
    )
    body.code = code
    client.create_function(models.CreateFunctionRequest(body=body))
    config = filled(models.EventBridgeTriggerConfig, models)
    config["eventSourceConfig"]["eventSourceType"] = "Kafka"
    trigger = models.CreateTriggerInput(
        trigger_name="bus", trigger_type="eventbridge", trigger_config=json.dumps(config)
    )
    client.create_trigger(name, models.CreateTriggerRequest(body=trigger))
    domain = models.CreateCustomDomainInput(domain_name=f"{name}.example.com", protocol="HTTP", is_e2b=True)
    client.create_custom_domain(models.CreateCustomDomainRequest(body=domain))

    shown = client.get_function(name, models.GetFunctionRequest()).body.to_map()

    assert {each: shown[each] for each in mounts} == mounts
    assert json.loads(client.get_trigger(name, "bus").body.trigger_config) == config
    seen = client.get_custom_domain(f"{name}.example.com").body
    assert (seen.is_e2b, seen.subdomain_count) == (True, "0")
    client.delete_custom_domain(f"{name}.example.com")
    client.delete_trigger(name, "bus")
    client.delete_function(name)
