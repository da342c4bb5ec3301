"""What can be done on the pages: debugging, deliveries, dead letters, triggers, refusals, logs."""

import http.client
import json
import threading
from base64 import b64encode
from urllib.parse import urlsplit

import pytest
from selenium.webdriver.common.by import By

from emulator.console.app import REGION_COOKIE
from emulator.console.making import package_of
from tests.console.walking import ROOT, eventually, opened, press, speak, text, texts

FLOW = (
    "version: v1\ntype: flow\nsteps:\n- type: pass\n  name: one\n- type: pass\n  name: two\n"
    "- type: task\n  name: pay\n  resourceArn: acs:fc:::services//functions/payment%2Fcharge\n"
)
STEPS = "version: v1\ntype: flow\nsteps:\n- type: pass\n  name: one\n- type: pass\n  name: two\n"


@pytest.fixture(autouse=True)
def _english(console, localyun):
    speak(console, localyun, "en")


def test_execution_is_debugged(console, localyun):
    """It stops before its first step, goes on by one with other data, and then to its end."""
    localyun.flow("debugged", STEPS)
    opened(console, localyun, "/flows/debugged")

    press(console, "button[name=debug]")
    assert eventually(console, lambda: "Stopped: before one" in text(console))
    press(console, "button[value=next]")
    assert eventually(console, lambda: "Stopped: before two" in text(console))
    data = console.find_element(By.CSS_SELECTOR, ".token textarea[name=data]")
    data.clear()
    data.send_keys('{"changed": true}')
    press(console, "button[value=continue]")
    assert eventually(console, lambda: "Succeeded" in console.find_element(By.TAG_NAME, "h1").text)


def test_execution_is_forked_before_a_step(console, localyun):
    """The fork gets the input that was typed, and is shown."""
    localyun.flow("forked", STEPS).start({"a": 1}, name="first").wait()
    opened(console, localyun, "/flows/forked/executions/first")

    press(console, ".step[data-step=two]")
    assert eventually(console, lambda: console.find_element(By.ID, "chosen").text.startswith("two"))
    press(console, "details[data-keep=fork] summary")
    typed = console.find_element(By.CSS_SELECTOR, "details[data-keep=fork] textarea")
    assert json.loads(typed.get_attribute("value")) == {"a": 1}
    typed.clear()
    typed.send_keys('{"forked": 1}')
    press(console, "details[data-keep=fork] button")

    assert eventually(console, lambda: "/executions/first" not in console.current_url)
    assert eventually(console, lambda: "Succeeded" in console.find_element(By.TAG_NAME, "h1").text)
    forked = console.current_url.rpartition("/")[2]
    entered = [
        json.loads(each["EventDetail"])["input"]
        for each in localyun.api.fnf("GetExecutionHistory", FlowName="forked", ExecutionName=forked)["Events"]
        if each["Type"] == "StepEntered" and each["StepName"] == "two"
    ]
    assert entered == [{"forked": 1}]


def test_two_executions_are_compared(console, localyun):
    """The first event in which they differ is marked."""
    opened(console, localyun, "/flows/approve/executions/first/compare")

    chosen = console.find_element(By.NAME, "with")
    listed = localyun.api.fnf("ListExecutions", FlowName="approve")["Executions"]
    latest = next(run["Name"] for run in listed if run["Name"] != "first")
    assert chosen.get_attribute("value") == latest
    chosen.clear()
    chosen.send_keys("second")
    press(console, "main form button.main")

    assert eventually(console, lambda: "The first difference is event" in text(console))
    assert console.find_elements(By.CSS_SELECTOR, "tr#first mark")


def test_delivery_is_shown_and_made_again(console, localyun):
    """Both attempts of a push stand on its page, with the text its signature covers."""
    sink = localyun.sink([{"status": 500}, {"status": 204}])
    topic = localyun.topic("again")
    topic.subscribe(sink.url, name="flaky")
    message = topic.publish("tea")
    opened(console, localyun, "/topics/again")

    assert eventually(console, lambda: "HTTP 500" in text(console))
    press(console, "form[action$='/redeliver'] button")
    assert eventually(console, lambda: "Delivered" in text(console))
    opened(console, localyun, f"/topics/again/deliveries/flaky/{message}")

    assert [each.text.split()[1] for each in console.find_elements(By.CSS_SELECTOR, "section.card h2")] == ["2", "1"]
    assert text(console).count("Valid for this text") == 2


def test_dead_letter_is_sent_back(console, localyun):
    """From the dead-letter queue to where it comes from."""
    policy = '{"Enabled": true, "MaxReceiveCount": 1, "DeadLetterTargetQueue": "graves"}'
    localyun.queue("graves")
    localyun.api.fnf("CreateQueue", Version="2022-01-19", QueueName="deadly", DlqPolicy=policy, VisibilityTimeout="30")
    queue = localyun.queue("deadly")
    queue.send("rise again")
    queue.receive()
    localyun.clock.advance("31s")
    opened(console, localyun, "/queues/graves")

    assert eventually(console, lambda: "Send back to deadly" in text(console))
    press(console, "#content form[action$='/move'] button")
    assert eventually(console, lambda: "No message is visible" in text(console))

    assert [each.body for each in queue.peek()] == ["rise again"]


def test_refusal_names_its_cause_and_marks_the_difference(console, localyun):
    """An encoded path: both texts stand side by side."""
    opened(console, localyun, "/requests/{refused}")

    assert "The path was signed in another form" in text(console)
    assert texts(console, "mark") == ["%", ","]


def test_refusal_is_compared_with_what_the_client_says(console, localyun):
    """Where no guess is right, a person can paste what was signed."""
    opened(console, localyun, "/requests/{refused}")

    console.find_element(By.NAME, "client").send_keys("GET-")
    press(console, "main form button")

    assert eventually(console, lambda: "-" in texts(console, "mark"))


def test_log_of_a_function_follows(console, localyun):
    """What a call prints is on the page without loading it again."""
    opened(console, localyun, "/functions/hello")
    log = console.find_element(By.CSS_SELECTOR, "pre.log")
    assert eventually(console, lambda: "<b>seen</b>" in log.text)
    before = log.text.count("<b>seen</b>")

    localyun.invoke("hello", {})

    assert eventually(console, lambda: log.text.count("<b>seen</b>") > before)


def test_event_of_a_trigger_fills_the_form(console, localyun):
    """The template is the event that the trigger would give."""
    opened(console, localyun, "/functions/hello")

    console.find_elements(By.CSS_SELECTOR, "select[data-fill] option")[1].click()

    assert '"triggerName":"nightly"' in console.find_element(By.ID, "event").get_attribute("value")


def test_errors_of_a_function_are_grouped(console, localyun):
    """Two alike are one row."""
    localyun.invoke("fragile")
    opened(console, localyun, "/functions/fragile")

    def rows():
        return [row for row in texts(console, "tr") if "no tea left" in row]

    assert eventually(console, lambda: len(rows()) == 1)


def test_trigger_is_fired_and_schedule_run(console, localyun):
    """As if their time had come."""
    opened(console, localyun, "/triggers")
    press(console, "form[action$='/fire'] button")
    assert eventually(console, lambda: "triggerName" in text(console))

    opened(console, localyun, "/schedules")
    press(console, "form[action$='/run'] button")
    assert eventually(console, lambda: "/flows/approve/executions/" in console.current_url)


def test_resources_of_another_region_are_one_button_away(console, localyun):
    """The button is there while the region has something; it chooses for all pages."""
    where = {"Host": "cn-shanghai.region.localhost", "Content-Type": "application/json"}
    localyun.api.fc("POST", "/2016-08-15/services", b'{"serviceName": "away"}', **where)
    opened(console, localyun, "/queues")

    def listed():
        return bool(console.find_elements(By.CSS_SELECTOR, "main a[href$='/queues/orders']"))

    assert listed()
    console.find_element(By.CSS_SELECTOR, "footer form[action$='/region/cn-shanghai'] button").click()
    assert eventually(console, lambda: not listed())

    console.find_element(By.CSS_SELECTOR, "footer form[action$='/region/cn-hangzhou'] button").click()
    assert eventually(console, listed)
    localyun.api.fc("DELETE", "/2016-08-15/services/away", **where)
    opened(console, localyun, "/queues")
    assert not console.find_elements(By.CSS_SELECTOR, "footer form[action*='/region/']")


def test_function_of_another_region_has_its_own_log(console, localyun):
    """Functions, the search and logs are those of the chosen region, where one is called as one at home is."""
    where = {"Host": "cn-shanghai.region.localhost", "Content-Type": "application/json"}
    code = package_of("def handler(event, context):\n    print('from far away')\n", "python3.12", "index.handler")
    body = {
        "functionName": "hello", "runtime": "python3.12", "handler": "index.handler",
        "code": {"zipFile": b64encode(code).decode()},
    }  # fmt: skip
    localyun.api.fc("POST", "/2023-03-30/functions", json.dumps(body).encode(), **where)
    localyun.api.fc("POST", "/2023-03-30/functions/hello/invocations", b"{}", **where)
    localyun.invoke("hello")

    def logged():
        log = console.find_element(By.CSS_SELECTOR, "pre.log").text
        return [each for each in ("from far away", "<b>seen</b>") if each in log]

    try:
        opened(console, localyun, "/queues")
        press(console, "footer form[action$='/region/cn-shanghai'] button")
        eventually(console, lambda: not console.find_elements(By.CSS_SELECTOR, "main a[href$='/queues/orders']"))
        opened(console, localyun, "/functions")
        assert [each.split()[0] for each in texts(console, "main tbody tr")] == ["hello"]
        opened(console, localyun, "/search?q=fragile")
        assert texts(console, "#content li") == []
        opened(console, localyun, "/functions/hello")
        assert eventually(console, logged) == ["from far away"]
        press(console, "footer form[action$='/region/cn-hangzhou'] button")
        eventually(console, lambda: console.find_elements(By.CSS_SELECTOR, "footer form[action$='cn-shanghai']"))
        opened(console, localyun, "/functions/hello")
        assert eventually(console, logged) == ["<b>seen</b>"]
    finally:
        localyun.api.fc("DELETE", "/2023-03-30/functions/hello", **where)
        console.execute_cdp_cmd(
            "Network.deleteCookies", {"name": REGION_COOKIE, "url": f"{localyun.endpoint}{ROOT}/", "path": ROOT}
        )


def test_fault_mock_checkpoint_and_account_are_made_and_removed(console, localyun):
    """Each of them by its form."""
    opened(console, localyun, "/faults")
    console.find_element(By.NAME, "operation").send_keys("NoSuchOperation")
    console.find_element(By.NAME, "code").send_keys("Busy")
    press(console, "main form[action$='/faults'] button")
    assert eventually(console, lambda: "NoSuchOperation" in text(console))

    opened(console, localyun, "/mocks")
    console.find_element(By.NAME, "function").send_keys("made/here")
    press(console, "main form[action$='/mocks'] button")
    assert eventually(console, lambda: "made/here" in text(console))

    opened(console, localyun, "/checkpoints")
    console.find_element(By.CSS_SELECTOR, "input[name=name][required]").send_keys("by-hand")
    press(console, "main form.row button.main")
    assert eventually(console, lambda: "by-hand" in text(console))
    rows = [row for row in console.find_elements(By.CSS_SELECTOR, "tbody tr") if "by-hand" in row.text]
    rows[0].find_element(By.CSS_SELECTOR, "button.danger").click()
    assert eventually(console, lambda: "by-hand" not in text(console))

    opened(console, localyun, "/accounts")
    console.find_element(By.NAME, "account").send_keys("1999999999999999")
    press(console, "main form.row button.main")
    assert eventually(console, lambda: "1999999999999999" in text(console))


def test_no_page_fails_while_everything_changes(console, localyun):
    """Queues, topics and flows come and go; a page is there or says that it is not, never more."""
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in console.get_cookies())
    stop = threading.Event()

    def change():
        while not stop.is_set():
            localyun.queue("fleeting").send("x")
            localyun.topic("fleeting")
            localyun.api.mns("DELETE", "/queues/fleeting")
            localyun.api.mns("DELETE", "/topics/fleeting")
            localyun.flow("fleeting", STEPS).start(name="e").wait()
            localyun.api.fnf("DeleteFlow", Name="fleeting")

    changing = threading.Thread(target=change)
    changing.start()
    pages = ["/", "/queues", "/queues/fleeting", "/topics/fleeting", "/flows/fleeting", "/flows/fleeting/executions/e"]
    pages += ["/requests", "/clock", "/search?q=fleeting"]
    try:
        answers = {_status(localyun, page, cookie) for _ in range(15) for page in pages}
    finally:
        stop.set()
        changing.join()

    assert answers <= {200, 404}


def _status(localyun, page, cookie):
    address = urlsplit(localyun.endpoint)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
    try:
        connection.request("GET", ROOT + page, headers={"Cookie": cookie, "HX-Request": "true"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


@pytest.mark.parametrize(("asked", "kind"), [("nightly", "schedule approve/nightly"), ("{message}", "request")])
def test_names_and_ids_of_all_kinds_are_found(console, localyun, asked, kind):
    """A schedule by its name, a message by its id, which leads to cause and effect."""
    opened(console, localyun, f"/search?q={asked}")
    assert kind in text(console)

    press(console, "#content li a")
    assert eventually(
        console, lambda: console.current_url.endswith("/flows/approve") or "Cause and effect" in text(console)
    )


@pytest.fixture
def _put_back(localyun):
    before = localyun.checkpoint("before-many")
    yield
    before.restore()
    before.delete()


@pytest.mark.usefixtures("_put_back")
def test_faults_mocks_and_accounts_are_listed_in_pages(console, localyun):
    """What is beyond the first fifty rows stands on the next page."""
    for number in range(60):
        localyun.faults.add(service="oss", operation=f"Operation{number}", error="InternalError")
        localyun.mock(f"many/function{number}")
        localyun.account()
    rows = {"/faults": "Operation{}", "/mocks": "many/function{}"}

    for page, name in rows.items():
        last = name.format(59)
        opened(console, localyun, page)
        assert name.format(0) in text(console)
        assert last not in text(console)
        press(console, "main a[rel=next]")
        assert eventually(console, lambda last=last: last in text(console))
        assert not console.find_elements(By.CSS_SELECTOR, "main a[rel=next]")
    opened(console, localyun, "/accounts")
    assert len(console.find_elements(By.CSS_SELECTOR, "main tbody tr")) == 1 + 50
    press(console, "main a[rel=next]")
    accounts = len(localyun.api.admin("GET", "accounts")["accounts"])
    assert eventually(
        console, lambda: len(console.find_elements(By.CSS_SELECTOR, "main tbody tr")) == 1 + accounts - 50
    )
