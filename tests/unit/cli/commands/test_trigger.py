"""``trigger``: listing triggers and firing them by hand, against the real program."""

import json

import pytest

from emulator.cli.commands import invoke

CODE = """
def handler(event, context):
    print("seen", event.decode())
    if b"fail" in event:
        raise ValueError("boom")
    return event
"""
TRIGGERS = """
triggers:
  - {name: nightly, type: timer, config: {cronExpression: "0 0 3 * * *", payload: usual, enable: false}}
  - {name: web, type: http, config: {authType: anonymous, methods: [POST]}}
"""


FAR = """
edition: 3.0.0
name: far
access: default
resources:
  away:
    component: fc3
    props:
      region: cn-beijing
      functionName: away
      runtime: python3.12
      handler: index.handler
      code: ./code
      triggers:
        - triggerName: tick
          triggerType: timer
          triggerConfig: {cronExpression: "0 0 4 * * *", enable: false}
"""


@pytest.fixture
def running(program):
    """A started emulator with one function that has triggers."""
    folder = program.folder / "functions" / "shop" / "Clean"
    folder.mkdir(parents=True)
    (folder / "index.py").write_text(CODE)
    (folder / "function.yml").write_text(TRIGGERS)
    program.start()
    return program


def test_triggers_are_listed_and_fired(running):
    """A switched-off timer fires by hand; the exit code tells whether the function failed."""
    listed = running.run("trigger", "list")
    rows = json.loads(running.run("trigger", "list", "--json").stdout)
    usual = running.run("trigger", "fire", "shop/Clean", "nightly", "--log")
    failing = running.run("trigger", "fire", "shop/Clean", "nightly", "--payload", "fail")
    missing = running.run("trigger", "fire", "shop/Clean", "none")
    (running.folder / "event").write_bytes(b"whole")
    whole = running.run("trigger", "fire", "shop/Clean", "web", "--event-file", "event", "--json")

    assert "0 0 3 * * *" in listed.stdout
    assert "/2016-08-15/proxy/shop/Clean (anonymous: POST)" in listed.stdout
    assert {(row["trigger"], row["enabled"]) for row in rows} == {("nightly", False), ("web", True)}
    assert json.loads(usual.stdout)["payload"] == "usual"
    assert 'seen {"triggerTime"' in usual.stderr
    assert (usual.returncode, failing.returncode, missing.returncode) == (0, 1, 1)
    assert "TriggerNotFound" in missing.stderr
    assert json.loads(whole.stdout)["body"] == "whole"
    assert running.run("trigger", "fire", "shop/Clean", "web", "--event-file", "nowhere").returncode == 1


def test_a_queue_trigger_is_listed_by_its_queue(running):
    """By the name of the queue, not by the ARN of an event bus."""
    folder = running.folder / "functions" / "shop" / "Pack"
    folder.mkdir(parents=True)
    (folder / "index.py").write_text(CODE)
    (folder / "function.yml").write_text("triggers: [{name: orders, type: mns_queue, queue: shop-orders}]\n")

    listed = running.run("trigger", "list")

    assert "queue shop-orders" in listed.stdout
    assert "eventbus" not in listed.stdout


def test_a_trigger_without_a_source_of_its_own_is_listed_by_its_configuration():
    """As JSON, in which an apostrophe changes nothing about the quotes."""
    config = {"eventSourceConfig": {"eventSourceType": "Default"}, "eventRuleFilterPattern": "it's"}

    about = invoke._about({"urls": [], "config": config, "sourceArn": "", "waitsFor": ""})

    assert about.startswith('{"eventSourceConfig": {"eventSourceType": "Default"}, ')


def test_triggers_of_other_regions_are_counted_behind_the_list(running):
    """By the number of triggers, not of the functions that have them; LOCALYUN_REGION shows and fires them."""
    (running.folder / "code").mkdir()
    (running.folder / "code" / "index.py").write_text(CODE)
    (running.folder / "s.yaml").write_text(FAR)
    deployed = running.run("deploy", LOCALYUN_REGION="cn-beijing")

    home = running.run("trigger", "list")
    far = running.run("trigger", "list", LOCALYUN_REGION="cn-beijing")
    fired = running.run("trigger", "fire", "away", "tick", LOCALYUN_REGION="cn-beijing")
    missing = running.run("trigger", "fire", "away", "tick")
    later = running.run("invoke", "away", "--async", "--event", '{"payload": "x"}', LOCALYUN_REGION="cn-beijing")

    assert deployed.returncode == 0, deployed.stderr
    assert "away" not in home.stdout
    assert "only cn-hangzhou is listed; to list cn-beijing (1): LOCALYUN_REGION=cn-beijing" in home.stderr
    assert "tick" in far.stdout
    assert "shop/Clean" not in far.stdout
    assert "to list cn-hangzhou (2)" in far.stderr
    assert (fired.returncode, missing.returncode) == (0, 1)
    assert "Succeeded" in later.stderr
