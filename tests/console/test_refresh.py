"""A page asks for the part that shows what has changed, and for nothing when that is elsewhere."""

import http.client
from urllib.parse import urlsplit

import pytest
from selenium.webdriver.common.by import By

from tests.console.browser import hide, resize, show
from tests.console.walking import ROOT, eventually, opened, press, speak, text

LISTEN = """
window.asked = [];
document.body.addEventListener("htmx:configRequest", (event) => window.asked.push(event.detail.target.id));
"""
ASKED = "return window.asked"
PASS = "version: v1\ntype: flow\nsteps:\n- {type: pass, name: only}\n"


@pytest.fixture
def still(localyun):
    """No delivery of the scene is tried again meanwhile, and all that was begun has ended."""
    localyun.clock.freeze()
    localyun.settle()
    yield
    localyun.clock.unfreeze()


@pytest.fixture(autouse=True)
def _english(console, localyun):
    resize(console, 1280, 900)
    speak(console, localyun, "en")


def looked_at(console, localyun, page):
    """Open a page and listen to what it asks for from now on."""
    opened(console, localyun, page)
    console.execute_script(LISTEN)


def test_page_of_a_queue_does_not_ask_when_another_queue_changes(console, localyun):
    """It asks once, when its own does."""
    mine, other = localyun.queue("mine"), localyun.queue("not-mine")
    looked_at(console, localyun, "/queues/mine")

    for _ in range(5):
        other.send("tea")
        other.delete(other.receive())
    mine.send("seen at last")

    assert eventually(console, lambda: "seen at last" in text(console))
    assert console.execute_script(ASKED) == ["content"]


def test_page_looks_again_when_a_time_that_it_shows_has_come(console, localyun):
    """A message becomes visible, and nothing is written then; the hour until then passes in the browser alone."""
    localyun.queue("delayed-tea").send("steeped", delay_s=3600)
    looked_at(console, localyun, "/queues/delayed-tea")

    console.execute_script("const now = Date.now; Date.now = () => now() + 3_700_000;")

    assert eventually(console, lambda: console.execute_script(ASKED)) == ["content"]


AT_ONCE = """
window.EventSource = class {
  addEventListener(name, then) {
    if (name === "change") queueMicrotask(() => then(new MessageEvent(name, { data: "*" })));
  }
  close() {}
};
"""
"""What is told of changes is that something has changed, once, while the last scripts of a page are loaded."""
FETCHED = "return performance.getEntriesByType('resource').some((each) => each.initiatorType === 'xmlhttprequest')"


def test_page_shows_what_has_changed_before_all_its_scripts_were_there(console, localyun):
    """It is told of changes when it can ask for what shows them."""
    added = console.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": AT_ONCE})
    try:
        opened(console, localyun, "/flows/approve/executions/first")
    finally:
        console.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)

    assert eventually(console, lambda: console.execute_script(FETCHED))


@pytest.mark.usefixtures("still")
def test_overview_asks_for_parts_of_it(console, localyun):
    """A request of a client is in the list of what just happened; nothing else of the page is made anew."""
    looked_at(console, localyun, "/")

    localyun.api.mns("GET", "/queues")

    latest = "section[aria-labelledby=latest] tbody tr"
    assert eventually(console, lambda: "ListQueue" in console.find_element(By.CSS_SELECTOR, latest).text)
    assert sorted(set(console.execute_script(ASKED))) == ["part-latest", "part-needs"]


def test_call_of_a_function_makes_its_activity_anew(console, localyun):
    """Not its code, its triggers and its versions."""
    looked_at(console, localyun, "/functions/fragile")

    localyun.invoke("fragile")
    localyun.invoke("hello")

    assert eventually(console, lambda: console.execute_script(ASKED))  # an earlier call may have left the same words
    assert eventually(console, lambda: "no tea left" in text(console))
    assert set(console.execute_script(ASKED)) == {"part-activity"}


def test_start_of_an_execution_makes_the_list_of_executions_anew(console, localyun):
    """The definition and its drawing stay; what is typed into the form too."""
    flow = localyun.flow("listed", PASS)
    localyun.flow("unlisted", PASS)
    looked_at(console, localyun, "/flows/listed")
    console.find_element(By.NAME, "name").send_keys("half a name")

    localyun.flow("unlisted").start(name="elsewhere").wait()
    flow.start(name="just-now").wait()

    assert eventually(console, lambda: "just-now" in text(console))
    assert eventually(console, lambda: "Succeeded" in console.find_element(By.CSS_SELECTOR, "tbody tr").text)
    assert set(console.execute_script(ASKED)) == {"part-executions"}
    assert console.find_element(By.NAME, "name").get_attribute("value") == "half a name"


def test_jump_of_the_clock_makes_every_page_anew(console, localyun):
    """All times on it are others; the note about the clock stands above it."""
    looked_at(console, localyun, "/queues/orders")

    localyun.clock.advance("2s")

    assert eventually(console, lambda: "content" in console.execute_script(ASKED))
    assert eventually(console, lambda: "ahead of this machine" in text(console))


def test_page_hears_of_what_changed_while_it_was_hidden(console, localyun):
    """Once it is seen again, and of nothing when that was elsewhere."""
    mine = localyun.queue("hidden")
    looked_at(console, localyun, "/queues/hidden")
    hide(console)
    try:
        mine.send("sent meanwhile")
    finally:
        show(console)

    assert eventually(console, lambda: "sent meanwhile" in text(console))
    assert console.execute_script(ASKED) == ["content"]


def test_what_changed_while_somebody_marks_text_is_shown_afterwards(console, localyun):
    """A refresh would take the selection away."""
    queue = localyun.queue("marked")
    looked_at(console, localyun, "/queues/marked")
    console.execute_script("getSelection().selectAllChildren(document.querySelector('#content h1'))")
    queue.send("waits for the reader")
    eventually(console, lambda: console.execute_script(ASKED) == ["content"])

    assert "waits for the reader" not in text(console)
    console.execute_script("getSelection().removeAllRanges()")
    assert eventually(console, lambda: "waits for the reader" in text(console))


def part(localyun, console, page, name):
    """Ask for a part of a page as htmx does."""
    address = urlsplit(localyun.endpoint)
    cookies = "; ".join(f"{each['name']}={each['value']}" for each in console.get_cookies())
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
    try:
        headers = {"Cookie": cookies, "HX-Request": "true", "HX-Target": name}
        connection.request("GET", ROOT + page, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_part_is_answered_alone(console, localyun):
    """Without the page around it; a part that the page has not is no content."""
    status, content = part(localyun, console, "/", "part-latest")

    assert status == 200
    assert content.lstrip().startswith('<section aria-labelledby="latest">')
    assert "<h1>" not in content
    assert part(localyun, console, "/", "part-nothing") == (204, "")


def test_page_whose_resource_is_deleted_says_so(console, localyun):
    """Its part is gone with it."""
    flow = localyun.flow("goes", PASS)
    looked_at(console, localyun, "/flows/goes")
    flow.start(name="one").wait()
    assert eventually(console, lambda: "one" in text(console))

    localyun.api.fnf("DeleteFlow", Name="goes")

    assert eventually(console, lambda: "FlowNotExists" in text(console))


def test_filter_stays_when_the_list_is_made_anew(console, localyun):
    """The part is asked for under the address that is shown."""
    flow = localyun.flow("filtered", PASS)
    flow.start(name="apple").wait()
    opened(console, localyun, "/flows/filtered")
    console.find_element(By.CSS_SELECTOR, "#filter input[name=q]").send_keys("app")
    press(console, "#filter button")
    assert eventually(console, lambda: "q=app" in console.current_url)

    flow.start(name="pear").wait()
    flow.start(name="apply").wait()

    assert eventually(console, lambda: "apply" in text(console))
    assert "pear" not in text(console)
