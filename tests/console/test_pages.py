"""Actions on pages in Chromium, and what pages make of text that is not theirs."""

import base64

import pytest
import requests
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from emulator.testing.api import Api
from tests.console.browser import hide, show
from tests.console.walking import eventually, opened, opened_alone, press, speak, text
from tests.sdk.test_fc_sessions import zipped


def test_message_is_sent_received_given_back_and_deleted(console, localyun):
    """What a form does is seen at once, and what others do without loading the page again."""
    speak(console, localyun, "en")
    queue = localyun.queue("by-hand")
    opened(console, localyun, "/queues/by-hand")

    console.find_element(By.NAME, "body").send_keys("from the page")
    console.find_element(By.CSS_SELECTOR, "form[action$='/send'] button").click()
    assert eventually(console, lambda: "from the page" in text(console))
    (sent,) = queue.peek()
    assert f"Message sent: {sent.id[:8]}" in text(console)
    queue.send("from a program")
    assert eventually(console, lambda: "from a program" in text(console))
    console.find_element(By.CSS_SELECTOR, "form[action$='/receive'] button").click()
    assert eventually(console, lambda: "Hidden until" in text(console))
    press(console, "form[action$='/delete'] button")
    assert eventually(console, lambda: console.current_url.endswith("/queues/by-hand"))
    assert eventually(console, lambda: "from the page" not in text(console))
    console.find_element(By.CSS_SELECTOR, "form[action$='/purge'] button").click()
    press(console, "#ask[open] button[value=yes]")
    assert eventually(console, lambda: "No message is visible" in text(console))


def test_flow_is_started_and_its_token_reported(console, localyun):
    """An execution started from the page waits for its token, is reported, and turns green without loading again."""
    speak(console, localyun, "en")
    localyun.queue("tasks")
    localyun.flow(
        "by-page",
        "version: v1\ntype: flow\nsteps:\n- type: task\n  name: ask\n  resourceArn: acs:mns:::/queues/tasks/messages\n"
        "  pattern: waitForCallback\n  serviceParams:\n    MessageBody: $\n",
    )
    opened(console, localyun, "/flows/by-page")

    console.find_element(By.CSS_SELECTOR, "form[action$='/start'] button").click()
    assert eventually(console, lambda: "Waits for a report" in text(console))
    console.find_element(By.CSS_SELECTOR, "button[value=succeeded]").click()
    assert eventually(console, lambda: "Succeeded" in console.find_element(By.TAG_NAME, "h1").text)

    shapes = console.find_elements(By.CSS_SELECTOR, ".graph .step[data-step=ask]")
    assert [each.get_attribute("data-state") for each in shapes] == ["succeeded"]


def test_graph_takes_colour_while_the_flow_runs(console, localyun):
    """A step's state in the graph follows the history without loading the page."""
    flow = localyun.flow("colours", "version: v1\ntype: flow\nsteps:\n- type: wait\n  name: nap\n  duration: 1\n")
    flow.start(name="one")
    opened(console, localyun, "/flows/colours/executions/one")

    assert eventually(
        console, lambda: console.find_elements(By.CSS_SELECTOR, ".step[data-step=nap][data-state=succeeded]")
    )


def test_history_is_scrubbed_by_slider_and_keys(console, localyun):
    """At the first event no step was entered; End leads back to the latest."""
    speak(console, localyun, "en")
    opened(console, localyun, "/flows/approve/executions/first")
    state = "return document.querySelector('.step[data-step=prepare]').dataset.state"

    console.find_element(By.TAG_NAME, "main").send_keys(Keys.HOME)
    assert eventually(console, lambda: console.execute_script(state) == "not entered")
    assert eventually(console, lambda: "at=1" in console.current_url)
    console.find_element(By.TAG_NAME, "main").send_keys(Keys.END)
    assert eventually(console, lambda: console.execute_script(state) == "succeeded")


def test_click_on_a_step_shows_what_went_in_and_out(console, localyun):
    """The step's panel follows a click in the graph, and the address keeps it."""
    speak(console, localyun, "en")
    opened(console, localyun, "/flows/approve/executions/first")

    console.find_element(By.CSS_SELECTOR, ".step[data-step=prepare]").click()

    assert eventually(console, lambda: console.find_element(By.ID, "chosen").text.startswith("prepare"))
    assert "step=" in console.current_url


def test_many_iterations_are_folded(console, localyun):
    """Of fifty iterations a window is shown, with a summary and a way to the others."""
    speak(console, localyun, "en")
    opened(console, localyun, "/flows/approve/executions/first")
    assert eventually(console, lambda: "50 in all" in text(console))
    assert "showing 1 to 20 later" in text(console)

    console.find_element(By.LINK_TEXT, "later").click()

    assert eventually(console, lambda: "showing 21 to 40" in text(console))


def test_function_is_called(console, localyun):
    """The result of a call stands on the page, with code and instances."""
    speak(console, localyun, "en")
    opened(console, localyun, "/functions/hello")

    console.find_element(By.CSS_SELECTOR, "form[action$='/call'] button").click()

    assert eventually(console, lambda: "Result" in text(console))
    assert "index.py" in text(console)


def test_sessions_of_a_function_are_shown(console, localyun):
    """Each with its instance; of a function without affinity there is no such part."""
    models = pytest.importorskip("alibabacloud_fc20230330.models")
    speak(console, localyun, "en")
    code = models.InputCodeLocation(zip_file=zipped("index.py", "def handler(event, context): return 'here'"))
    made = models.CreateFunctionInput(
        function_name="bound", runtime="python3.12", handler="index.handler", code=code,
        session_affinity="HEADER_FIELD",
        session_affinity_config='{"affinityHeaderFieldName": "client-id"}',
    )  # fmt: skip
    localyun.fc3.create_function(models.CreateFunctionRequest(body=made))
    body = models.CreateSessionInput(session_id="of-the-page")
    session = localyun.fc3.create_session("bound", models.CreateSessionRequest(body=body)).body

    opened(console, localyun, "/functions/bound")
    assert all(word in text(console) for word in ("Sessions", "of-the-page", "HEADER_FIELD", session.container_id))
    row = console.find_element(By.XPATH, "//tr[td/code[text()='of-the-page']]")
    assert "Active" in row.text
    speak(console, localyun, "zh")
    opened(console, localyun, "/functions/bound")
    row = console.find_element(By.XPATH, "//tr[td/code[text()='of-the-page']]")
    assert "活跃" in row.text
    speak(console, localyun, "en")
    opened(console, localyun, "/functions/hello")
    assert "Sessions" not in text(console)


def test_slash_leads_to_the_search(console, localyun):
    """The key / puts the cursor into the search, from every page."""
    opened(console, localyun, "/clock")

    console.find_element(By.TAG_NAME, "main").send_keys("/")
    console.switch_to.active_element.send_keys("orders", Keys.ENTER)

    assert eventually(console, lambda: "/search?q=orders" in console.current_url)
    assert eventually(console, lambda: "orders" in text(console))


BAD = "<script>window.broken=1</script>\"><img src=x onerror='window.broken=1'>{{7*7}}\r\nX-Bad: 1 \u202eright\u2066"
LARGE = BAD + "x" * 40_000
MEGABYTE = BAD * (1_000_000 // len(BAD))


@pytest.fixture(scope="module")
def hostile(localyun):
    """Everything a user controls, filled with markup."""
    queue = localyun.queue("bad")
    queue.send(LARGE)
    queue.send(base64.b64encode(BAD.encode()).decode())
    sink = localyun.sink([{"status": 500, "headers": {"X-Bad": BAD.partition("\r")[0]}, "body": BAD}])
    topic = localyun.topic("bad")
    topic.subscribe(sink.url, name="bad")
    topic.publish(LARGE)
    localyun.invoke("hello", {"text": MEGABYTE})
    localyun.invoke("loud", {"text": MEGABYTE})
    localyun.mock("<script>window.broken=1<", returns=BAD)
    localyun.faults.add(service="oss", operation="<script>window.broken=1</script>", error="Busy")
    definition = (
        "version: v1\ntype: flow\nsteps:\n- type: choice\n  name: pick\n  choices:\n"
        '  - condition: $.a == "<script>window.broken=1</script>"\n'
        "    steps:\n    - type: pass\n      name: inner\n"
        "- type: fail\n  name: broken\n  error: '<img src=x onerror=\"window.broken=1\">'\n"
        "  cause: '</title><script>window.broken=1</script>{{7*7}}'\n"
    )
    localyun.flow("bad", definition).start({"a": LARGE}, name="bad")


def test_a_request_that_its_client_gave_up_is_listed(console, localyun):
    """The client closes its connection while its long poll waits."""
    localyun.queue("empty")
    keys = {"access_key_id": localyun.access_key_id, "access_key_secret": localyun.access_key_secret}
    impatient = Api(localyun.endpoint, **keys, token=localyun.token, timeout_s=0.2)
    with pytest.raises(requests.ReadTimeout):
        impatient.mns("GET", "/queues/empty/messages?waitseconds=30")
    impatient.close()

    opened_alone(console, localyun, "/requests")

    assert eventually(console, lambda: "499" in text(console))
    assert "ReceiveMessage" in text(console)
    assert console.get_log("browser") == []


@pytest.mark.parametrize(
    "page",
    [
        *(
            "/queues/bad",
            "/topics/bad",
            "/functions/hello",
            "/functions/loud",
            "/mocks",
            "/faults",
            "/flows/bad",
            "/flows/bad/executions/bad",
            "/requests",
        ),
        *("/search?q=%3Cscript%3Ewindow.broken=1%3C/script%3E", "/flows/%3Cscript%3E"),
        "/requests?q=%22%3E%3Cimg%20src=x%3E",
    ],
)
@pytest.mark.usefixtures("hostile")
def test_markup_of_users_stays_text(console, localyun, page):
    """Nothing of a user's text becomes an element, a script or a template."""
    opened_alone(console, localyun, page)

    if page == "/functions/loud":
        assert eventually(console, lambda: len(console.find_element(By.CSS_SELECTOR, "pre.log").text) > 10_000)
    assert console.execute_script("return window.broken") is None
    assert console.find_elements(By.CSS_SELECTOR, "main script, main img, main [onerror]") == []
    assert eventually(console, lambda: "49" not in console.find_element(By.TAG_NAME, "h1").text)
    refused = [entry for entry in console.get_log("browser") if "404" not in entry["message"]]
    assert refused == []


def test_seven_pages_at_once_are_all_alive(console, localyun):
    """A browser keeps six connections to a server; pages that are not seen hold none."""
    queue = localyun.queue("many-tabs")
    first = console.current_window_handle
    opened(console, localyun, "/queues/many-tabs")
    try:
        for _ in range(6):
            hide(console)
            console.switch_to.new_window("tab")
            opened(console, localyun, "/queues/many-tabs")
        queue.send("seen by the last")
        assert eventually(console, lambda: "seen by the last" in text(console))
        hide(console)
        console.switch_to.window(first)
        assert "seen by the last" not in text(console)
        show(console)
        assert eventually(console, lambda: "seen by the last" in text(console))
    finally:
        for handle in console.window_handles:
            if handle != first:
                console.switch_to.window(handle)
                console.close()
        console.switch_to.window(first)
