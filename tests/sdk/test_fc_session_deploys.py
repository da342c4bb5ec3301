"""Affinity and isolation in deployments: out in three forms, in again in two, the same in each member."""

import json
import re

import pytest

from emulator.testing import Emulator
from tests.sdk.test_fc_sessions import BY_HEADER, PROGRAM, Site

pytest.importorskip("alibabacloud_fc20230330")
pytestmark = pytest.mark.sdk

ALONE = {"instanceIsolationMode": "SESSION_EXCLUSIVE", "cpu": 2, "memorySize": 4096}
MEMBERS = ("session_affinity", "session_affinity_config", "instance_isolation_mode", "instance_concurrency", "cpu")
TIMES = {"sessionTTLInSeconds": 600, "sessionIdleTimeoutInSeconds": 60, "sessionConcurrencyPerInstance": 7}
CASES = {
    "header": ("HEADER_FIELD", {**BY_HEADER, **TIMES, "disableSessionIdReuse": True}, ALONE),
    "cookie": ("GENERATED_COOKIE", TIMES, {"instanceIsolationMode": "SHARE"}),
    "one": ("GENERATED_COOKIE", {}, {"instanceConcurrency": 1, **ALONE}),
    "sse": ("MCP_SSE", {"sseEndpointPath": "events", "sessionConcurrencyPerInstance": 3}, {}),
    "streamable": ("MCP_STREAMABLE", TIMES, {}),
    "requests": (None, {}, {**ALONE, "instanceIsolationMode": "REQUEST_EXCLUSIVE"}),
    "none": ("NONE", {}, {}),
}


@pytest.fixture(scope="module")
def site():
    with Emulator() as localyun:
        yield Site(localyun)


def in_terraform(text, name):
    """Return the attributes of a function's block that stand on a line of their own."""
    block = next(each for each in text.split("\nresource ") if f'"{name}"' in each and "fcv3_function" in each)
    return {key: json.loads(value) for key, value in re.findall(r'^  (\w+) += (".*"|[\d.]+)$', block, re.MULTILINE)}


def test_file_that_is_deployed_again_changes_nothing_whatever_the_case_of_the_header(site, tmp_path):
    """The service keeps its name in lower case; another time to live is a difference."""
    config = {"affinityHeaderFieldName": "X-Words-Session", "sessionTTLInSeconds": 60}
    props = {"region": "cn-hangzhou", "functionName": "s-words", "runtime": "custom.debian12", "code": "./code",
             "sessionAffinity": "HEADER_FIELD"}  # fmt: skip
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "bootstrap").write_text(PROGRAM)

    def planned(**more):
        given = {**props, "sessionAffinityConfig": json.dumps(config | more)}
        file = {"edition": "3.0.0", "name": "s-words", "resources": {"words": {"component": "fc3", "props": given}}}
        (tmp_path / "s.yaml").write_text(json.dumps(file))
        return site.localyun.command("deploy", "--plan", str(tmp_path / "s.yaml"))

    assert "1 to create" in planned()
    site.localyun.deploy(tmp_path / "s.yaml")

    assert "= unchanged  fc3 function  words" in planned()
    assert "~ update     fc3 function  words" in planned(sessionTTLInSeconds=61)
    site.client.delete_function("s-words")


def test_every_kind_of_affinity_comes_back_as_it_was(site, tmp_path):
    """From an export as `s.yaml` and as a stack's template; Terraform's file has the same values."""
    made = {case: site.function(kind, config, custom=True, **more) for case, (kind, config, more) in CASES.items()}

    def shown():
        return {case: {each: getattr(site.shown(name), each) for each in MEMBERS} for case, name in made.items()}

    before = shown()
    for form in ("s.yaml", "template.yml", "terraform"):
        site.localyun.command("export", "--format", form, "--output", str(tmp_path / form))
    for form in ("s.yaml", "template.yml"):
        for name in made.values():
            site.client.delete_function(name)
        site.localyun.deploy(tmp_path / form / form)
        assert shown() == before, form

    text = (tmp_path / "terraform" / "main.tf").read_text(encoding="utf-8")
    for case, name in made.items():
        declared = in_terraform(text, name)
        assert {each: declared.get(each) for each in MEMBERS} == before[case]
    assert before["header"]["session_affinity_config"] is not None
    assert {each["session_affinity"] for each in before.values()} == {kind for kind, _, _ in CASES.values()}
