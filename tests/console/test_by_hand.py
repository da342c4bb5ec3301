"""Everything by hand: each kind of resource is made, changed and deleted on pages."""

from io import BytesIO
from zipfile import ZipFile

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.console.walking import eventually, opened, press, speak, text, texts

FLOW = "version: v1\ntype: flow\nsteps:\n- {type: pass, name: only}\n"
BROKEN = "version: v1\ntype: flow\nsteps:\n- {type: fail, name: end, error: Broken}\n"


@pytest.fixture(autouse=True)
def _english(console, localyun):
    speak(console, localyun, "en")


def fill(console, **fields):
    """Fill controls of the form by their names."""
    for name, value in fields.items():
        found = console.find_element(By.CSS_SELECTOR, f".making [name='{name.replace('__', '.')}']")
        if found.tag_name == "select":
            Select(found).select_by_visible_text(value)
        else:
            console.execute_script("arguments[0].value = arguments[1]", found, value)


def save(console, page):
    """Send the form and wait for the page it leads to."""
    press(console, ".making button.main")
    arrived = "return location.pathname.endsWith(arguments[0]) && document.readyState === 'complete'"
    assert eventually(console, lambda: console.execute_script(arrived, page)), console.current_url


def delete(console, selector):
    """Press a button that deletes, and say yes."""
    press(console, f"form[action$='/delete/{selector}'] button")
    press(console, "#ask[open] button[value=yes]")


def test_queue_is_made_changed_and_deleted(console, localyun):
    """The range of an attribute stands at its control, and what is out of it is refused in place."""
    opened(console, localyun, "/queues")
    press(console, "New queue", By.LINK_TEXT)
    control = eventually(console, lambda: console.find_element(By.NAME, "VisibilityTimeout"))
    assert (control.get_attribute("min"), control.get_attribute("max")) == ("1", "43200")
    assert "a received message is hidden for N seconds" in text(console)
    fill(console, **{"name-queue": "hand-queue"}, VisibilityTimeout="77")
    save(console, "/queues/hand-queue")
    assert "visibility timeout 77 s" in text(console)

    press(console, "Edit", By.LINK_TEXT)
    assert (
        eventually(console, lambda: console.find_element(By.NAME, "VisibilityTimeout")).get_attribute("value") == "77"
    )
    fill(console, DelaySeconds="5")
    save(console, "/queues/hand-queue")
    assert "delay 5 s" in text(console)
    assert "visibility timeout 77 s" in text(console)

    delete(console, "queue/hand-queue")
    assert eventually(console, lambda: console.current_url.endswith("/queues"))
    assert "hand-queue" not in text(console)


def test_what_is_refused_stands_in_the_form_with_what_was_typed(console, localyun):
    """By the rule of the form, and by that of the service."""
    opened(console, localyun, "/new/queue")
    fill(console, **{"name-queue": "hand-refused"}, VisibilityTimeout="0")
    console.execute_script("document.querySelector('.making').noValidate = true")
    press(console, ".making button.main")
    assert eventually(console, lambda: "from 1 to 43200" in text(console))
    fill(console, **{"name-queue": "-"}, VisibilityTimeout="30")
    press(console, ".making button.main")

    assert eventually(console, lambda: "InvalidQueueName" in text(console) or "InvalidArgument" in text(console))
    assert console.find_element(By.NAME, "VisibilityTimeout").get_attribute("value") == "30"


def test_topic_and_subscription_are_made_changed_and_deleted(console, localyun):
    """A subscription stands under its topic."""
    localyun.queue("hand-inbox")
    opened(console, localyun, "/new/topic")
    fill(console, **{"name-topic": "hand-topic"})
    save(console, "/topics/hand-topic")

    press(console, "New subscription", By.LINK_TEXT)
    eventually(console, lambda: console.find_element(By.NAME, "Endpoint"))
    endpoint = f"acs:mns:{localyun.region}:{localyun.account_id}:queues/hand-inbox"
    fill(console, **{"name-subscription": "to-inbox"}, Endpoint=endpoint, NotifyContentFormat="SIMPLIFIED")
    save(console, "/topics/hand-topic")
    assert "to-inbox" in text(console)
    press(console, "Edit to-inbox", By.LINK_TEXT)
    eventually(console, lambda: console.find_element(By.NAME, "NotifyStrategy"))
    assert not console.find_elements(By.NAME, "Endpoint")
    fill(console, NotifyStrategy="EXPONENTIAL_DECAY_RETRY")
    save(console, "/topics/hand-topic")
    assert "EXPONENTIAL_DECAY_RETRY" in text(console)
    delete(console, "subscription/hand-topic/to-inbox")
    assert eventually(console, lambda: "No subscriptions" in text(console))
    delete(console, "topic/hand-topic")
    assert eventually(console, lambda: console.current_url.endswith("/topics"))


def test_function_is_made_from_the_editor_and_called(console, localyun):
    """Its code is changed by a zip; a version, an alias with weights and a trigger are made."""
    opened(console, localyun, "/new/function")
    fill(console, **{"name-function": "hand-function"}, code="def handler(event, context):\n    return 'first'\n")
    save(console, "/functions/hand-function")
    assert localyun.invoke("hand-function").payload == b"first"

    opened(console, localyun, "/edit/function/hand-function")
    fill(console, timeout="9", code="def handler(event, context):\n    return 'second'\n")
    save(console, "/functions/hand-function")
    assert localyun.invoke("hand-function").payload == b"second"
    for version in ("1", "2"):
        press(console, "form[action$='/publish/hand-function'] button")
        assert eventually(console, lambda version=version: version in texts(console, "main td:first-child"))
        opened(console, localyun, "/edit/function/hand-function")
        fill(console, description="another")
        save(console, "/functions/hand-function")

    opened(console, localyun, "/new/alias?in=hand-function")
    assert "function\nhand-function" in text(console)
    fill(console, **{"name-alias": "live"}, versionId="1", other="2", share="25")
    save(console, "/functions/hand-function")
    assert "live 1: 75 % · 2: 25 %" in texts(console, "main tr:has(a[href*='/edit/alias/'])")[0]
    opened(console, localyun, "/new/trigger?in=hand-function")
    fill(
        console, **{"name-trigger": "tick"}, triggerType="timer",
        triggerConfig='{"cronExpression": "@every 5m", "enable": true, "payload": ""}',
    )  # fmt: skip
    save(console, "/functions/hand-function")
    assert "tick (timer)" in text(console)
    delete(console, "trigger/hand-function/tick")
    assert eventually(console, lambda: not console.find_elements(By.CSS_SELECTOR, "form[action$='/tick'] button"))
    delete(console, "alias/hand-function/live")
    assert eventually(console, lambda: not console.find_elements(By.CSS_SELECTOR, "form[action$='/live'] button"))


def test_function_is_made_from_a_zip(console, localyun, tmp_path):
    """The file that is chosen is its code."""
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        archive.writestr("index.py", "def handler(event, context):\n    return 'zipped'\n")
    path = tmp_path / "code.zip"
    path.write_bytes(packed.getvalue())
    opened(console, localyun, "/new/function")

    fill(console, **{"name-function": "hand-zip"})
    console.find_element(By.NAME, "zip").send_keys(str(path))
    save(console, "/functions/hand-zip")

    assert localyun.invoke("hand-zip").payload == b"zipped"
    delete(console, "function/hand-zip")
    assert eventually(console, lambda: console.current_url.endswith("/functions"))


def test_schedule_is_made_changed_and_deleted(console, localyun):
    """It names the flow that it starts."""
    localyun.flow("hand-nightly", FLOW)
    opened(console, localyun, "/new/schedule")
    fill(console, **{"name-flow": "hand-nightly", "name-schedule": "often"}, CronExpression="@every 5m", Enable="true")
    save(console, "/schedules")
    assert "often" in text(console)

    opened(console, localyun, "/edit/schedule/hand-nightly/often")
    fill(console, CronExpression="@every 7m")
    save(console, "/schedules")
    assert "@every 7m" in text(console)
    delete(console, "schedule/hand-nightly/often")
    assert eventually(console, lambda: "@every 7m" not in text(console))


def test_role_is_made_changed_and_deleted(console, localyun):
    """Its trust document is JSON."""
    trust = (
        '{"Version": "1", "Statement": [{"Action": "sts:AssumeRole", "Effect": "Allow", '
        '"Principal": {"Service": ["fc.aliyuncs.com"]}}]}'
    )
    opened(console, localyun, "/new/role")
    fill(console, **{"name-role": "hand-role"}, AssumeRolePolicyDocument=trust, Description="for tea")
    save(console, "/roles")
    assert "for tea" in text(console)

    opened(console, localyun, "/edit/role/hand-role")
    fill(console, Description="for coffee")
    save(console, "/roles")
    assert "for coffee" in text(console)
    delete(console, "role/hand-role")
    assert eventually(console, lambda: "hand-role" not in text(console))


def test_bucket_and_objects_are_made_and_deleted(console, localyun, tmp_path):
    """A bucket needs no more than its name; an object is a text that was typed or a file that was chosen."""
    path = tmp_path / "leaf.txt"
    path.write_text("green", encoding="utf-8")
    opened(console, localyun, "/new/bucket")
    fill(console, **{"name-bucket": "hand-plain"})
    save(console, "/buckets/hand-plain")
    delete(console, "bucket/hand-plain")
    assert eventually(console, lambda: console.current_url.endswith("/buckets"))
    opened(console, localyun, "/new/bucket")
    fill(console, **{"name-bucket": "hand-bucket"}, AccessControl="private", StorageClass="IA")
    save(console, "/buckets/hand-bucket")

    fill(console, key="a b/typed.txt", text="black")
    press(console, ".making button.main")
    assert eventually(console, lambda: "a b/typed.txt" in text(console))
    console.find_element(By.NAME, "file").send_keys(str(path))
    press(console, ".making button.main")
    assert eventually(console, lambda: "leaf.txt" in text(console))
    for _ in range(2):
        left = len(console.find_elements(By.CSS_SELECTOR, "main tbody tr"))
        press(console, "form[action$='/objects/hand-bucket/delete'] button")
        press(console, "#ask[open] button[value=yes]")
        assert eventually(
            console, lambda left=left: len(console.find_elements(By.CSS_SELECTOR, "main tbody tr")) == left - 1
        )
    delete(console, "bucket/hand-bucket")
    assert eventually(console, lambda: console.current_url.endswith("/buckets"))


def test_flow_is_checked_and_drawn_as_one_types(console, localyun):
    """What is wrong stands beside the editor with its line; what can be run is drawn, made, changed and deleted."""
    opened(console, localyun, "/flows")
    press(console, "New flow", By.LINK_TEXT)
    editor = eventually(console, lambda: console.find_element(By.NAME, "Definition"))

    editor.clear()
    editor.send_keys(FLOW.replace("pass", "pas"))
    assert eventually(console, lambda: "line 4" in console.find_element(By.CSS_SELECTOR, "#checked .problem").text)
    editor.clear()
    editor.send_keys(FLOW)
    assert eventually(console, lambda: console.find_elements(By.CSS_SELECTOR, "#checked .step[data-step=only]"))
    fill(console, name="hand-flow", Type="FDL", Description="typed")
    save(console, "/flows/hand-flow")
    assert "typed" in text(console)

    press(console, "Edit", By.LINK_TEXT)
    eventually(console, lambda: console.find_element(By.NAME, "Definition"))
    fill(console, Definition=BROKEN)
    save(console, "/flows/hand-flow")
    assert "Broken" in localyun.api.fnf("DescribeFlow", Name="hand-flow")["Definition"]
    press(console, "form[action$='/design/hand-flow/delete'] button")
    press(console, "#ask[open] button[value=yes]")
    assert eventually(console, lambda: console.current_url.endswith("/flows"))


def test_flow_needs_a_name_and_a_definition_only(console, localyun):
    """Its type and mode are chosen from lists, in which the usual type is chosen already."""
    opened(console, localyun, "/design")
    choices = {
        name: [each.text for each in Select(console.find_element(By.NAME, name)).options]
        for name in ("Type", "ExecutionMode")
    }

    fill(console, name="hand-express", ExecutionMode="Express")
    save(console, "/flows/hand-express")

    assert choices == {"Type": ["", "DEFAULT", "FDL"], "ExecutionMode": ["", "Express", "Standard"]}
    made = localyun.api.fnf("DescribeFlow", Name="hand-express")
    assert (made["Type"], made["ExecutionMode"], made["Description"]) == ("FDL", "Express", "")


def test_executions_that_failed_are_started_again_together(console, localyun):
    """Each with its input; those that succeeded are left alone."""
    flow = localyun.flow("hand-again", BROKEN)
    for number in range(3):
        flow.start({"number": number}).wait()
    opened(console, localyun, "/flows/hand-again")

    press(console, "form[action$='/rerun'] button")
    press(console, "#ask[open] button[value=yes]")

    assert eventually(console, lambda: len(console.find_elements(By.CSS_SELECTOR, "main tbody tr")) == 6)
