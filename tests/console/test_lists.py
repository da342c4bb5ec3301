"""Lists: the last state and error, rates, filters, pages in both directions, short ids; the search in contents."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.console.walking import eventually, opened, press, speak, text, texts

FAILING = "version: v1\ntype: flow\nsteps:\n- {type: fail, name: end, error: NoSamovar, cause: it is cold}\n"
PASSING = "version: v1\ntype: flow\nsteps:\n- {type: pass, name: only}\n"


@pytest.fixture(autouse=True)
def _english(console, localyun):
    speak(console, localyun, "en")


def row(console, words):
    """The row of the list with these words, without those of its head."""
    return next((each for each in texts(console, "main tbody tr") if words in each), "")


def test_flows_say_how_the_last_execution_went(console, localyun):
    """With its state, and the error of the latest that failed."""
    localyun.flow("lists-fails", FAILING).start(name="one").wait()
    localyun.flow("lists-passes", PASSING).start(name="one").wait()

    opened(console, localyun, "/flows")

    assert "Failed" in row(console, "lists-fails")
    assert "NoSamovar" in row(console, "lists-fails")
    assert "/min" in row(console, "lists-passes")
    assert "Succeeded" in row(console, "lists-passes")


def test_flows_and_executions_are_filtered_by_state_and_time(console, localyun):
    """What does not fit is not shown; the address keeps the filter."""
    localyun.flow("lists-fails", FAILING).start(name="two").wait()
    localyun.flow("lists-passes", PASSING).start(name="two").wait()
    opened(console, localyun, "/flows")

    Select(console.find_element(By.NAME, "state")).select_by_visible_text("Failed")
    press(console, "#filter button")
    assert eventually(console, lambda: "state=Failed" in console.current_url)
    assert row(console, "lists-fails")
    assert not row(console, "lists-passes")

    opened(console, localyun, "/flows/lists-fails?state=Failed&since=1h&q=tw")
    assert "it is cold" in row(console, "two")
    opened(console, localyun, "/flows/lists-fails?state=Running")
    assert "Nothing matches the filter" in text(console)


def test_queues_topics_and_functions_say_rate_and_last_error(console, localyun):
    """A queue how many came and went, a topic whether the last push arrived, a function its last error."""
    queue = localyun.queue("lists-busy")
    for _ in range(5):
        queue.send("tea")
    queue.receive()
    sink = localyun.sink([{"status": 500}])
    topic = localyun.topic("lists-pushes")
    topic.subscribe(sink.url, name="away")
    topic.publish("tea")
    localyun.invoke("fragile")

    opened(console, localyun, "/queues?q=lists-busy")
    assert "1.0/min" in row(console, "lists-busy")
    assert "0.2/min" in row(console, "lists-busy")
    opened(console, localyun, "/topics")
    assert eventually(console, lambda: "Failed" in row(console, "lists-pushes"))
    assert "away" in row(console, "lists-pushes")
    opened(console, localyun, "/functions?state=failed")
    assert "no tea left" in row(console, "fragile")
    assert not row(console, "hello")


def test_a_list_turns_its_pages_in_both_directions(console, localyun):
    """Of 120 queues the second page leads back to the first and on to the third."""
    for number in range(120):
        localyun.queue(f"lists-many-{number:03}")
    opened(console, localyun, "/queues?q=lists-many")
    assert not console.find_elements(By.CSS_SELECTOR, "a[rel=prev]")

    press(console, "a[rel=next]")
    assert eventually(console, lambda: console.find_elements(By.CSS_SELECTOR, "a[rel=prev]"))
    press(console, "a[rel=next]")
    assert eventually(console, lambda: row(console, "lists-many-119"))
    assert not console.find_elements(By.CSS_SELECTOR, "a[rel=next]")
    press(console, "a[rel=prev]")
    assert eventually(console, lambda: not row(console, "lists-many-119"))
    press(console, "a[rel=prev]")
    assert eventually(console, lambda: row(console, "lists-many-000"))

    assert not console.find_elements(By.CSS_SELECTOR, "a[rel=prev]")


def test_a_client_that_polls_is_one_line(console, localyun):
    """Forty pairs of questions in turns are one line with their number, and can be seen each by itself."""
    localyun.flow("lists-polled", PASSING).start(name="one").wait()
    for _ in range(20):
        for action in ("DescribeExecution", "GetExecutionHistory"):
            localyun.api.fnf(action, FlowName="lists-polled", ExecutionName="one")

    opened(console, localyun, "/requests?q=lists-polled")

    assert eventually(console, lambda: "\u00d7 20" in row(console, "DescribeExecution"))
    assert "GetExecutionHistory" in row(console, "DescribeExecution")
    assert "lists-polled/one" in row(console, "DescribeExecution")
    assert "root" in row(console, "DescribeExecution")
    opened(console, localyun, "/requests?q=lists-polled&each=1")
    assert len(console.find_elements(By.CSS_SELECTOR, "main tbody tr")) >= 40


def test_requests_that_failed_say_the_error(console, localyun):
    """The filter leaves the others out."""
    localyun.queue("lists-there").send("tea")
    with pytest.raises(Exception, match="QueueNotExist"):
        localyun.api.mns("POST", "/queues/lists-missing/messages", "<Message><MessageBody>x</MessageBody></Message>")

    opened(console, localyun, "/requests?state=failed&since=1h")

    assert "QueueNotExist" in row(console, "lists-missing")
    assert not row(console, "lists-there")


def test_long_ids_are_short_and_copied_whole(console, localyun):
    """The button beside it has the whole id; a page is never called by one."""
    opened(console, localyun, "/topics/reminders")
    message = localyun.scene["message"]
    assert message not in text(console)
    assert f"{message[:8]}…" in text(console)
    assert console.find_elements(By.CSS_SELECTOR, f"button[data-copy='{message}']")

    opened(console, localyun, "/requests/{refused}")

    assert "GET /queues/a%2Cb" in console.find_element(By.TAG_NAME, "h1").text
    assert localyun.scene["refused"] not in console.find_element(By.TAG_NAME, "h1").text


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("NoSamovar", "execution"),
        ("no tea left", "request"),
        ("ValueError", "request"),
        ("green-and-black", "message"),
        ("QueueNotExist", "request"),
    ],
)
def test_the_search_finds_errors_and_bodies(console, localyun, asked, kind):
    """What an execution failed with, what a function raised, what a message says, what a request was refused for."""
    localyun.flow("lists-fails", FAILING).start().wait()
    localyun.invoke("fragile")
    localyun.queue("lists-bodies").send({"leaf": "green-and-black"})
    with pytest.raises(Exception, match="QueueNotExist"):
        localyun.api.mns("GET", "/queues/lists-missing")

    opened(console, localyun, f"/search?q={asked}")

    lines = texts(console, "#content li")
    assert any(each.startswith(kind) and asked in each for each in lines)


def test_the_search_looks_into_every_flow_and_every_queue(console, localyun):
    """However many come before the one that failed, or that has the message; so it does for names of executions."""
    for number in range(60):
        localyun.flow(f"zz-before-{number:02}", PASSING)
        localyun.queue(f"zz-before-{number:02}")
    failing = localyun.flow("zz-last", FAILING.replace("it is cold", "the very last one"))
    failing.start(name="lists-called-so").wait()
    localyun.queue("zz-last").send("blue-mauve")

    for asked, kind in (("very last", "execution"), ("lists-called", "execution"), ("mauve", "message")):
        opened(console, localyun, f"/search?q={asked}")
        lines = texts(console, "#content li")
        assert any(each.startswith(kind) and "zz-last" in each for each in lines), lines


@pytest.mark.parametrize(("language", "sent", "hour"), [("en", "ago", "1h ago"), ("zh", "前", "1小时前")])
def test_times_are_relative_to_the_clock_of_the_emulator(console, localyun, language, sent, hour):
    """The moment itself is there when it is pointed at, in the reader's zone and in UTC; it grows with the clock."""
    speak(console, localyun, language)
    localyun.queue(f"ages-{language}").send("tea")
    opened(console, localyun, f"/queues/ages-{language}")
    first = "#content tbody time"

    assert eventually(console, lambda: sent in console.find_element(By.CSS_SELECTOR, first).text)
    shown = console.find_element(By.CSS_SELECTOR, first)
    assert shown.get_attribute("datetime") in shown.get_attribute("title")
    localyun.clock.advance("1h")
    assert eventually(console, lambda: console.find_element(By.CSS_SELECTOR, first).text == hour)
    speak(console, localyun, "en")


def test_what_is_now_is_not_to_come(console, localyun):
    """As of what happens while the clock is frozen."""
    localyun.clock.freeze()
    try:
        localyun.queue("ages-frozen").send("tea")
        opened(console, localyun, "/queues/ages-frozen")

        assert eventually(console, lambda: texts(console, "#content tbody time.ago") == ["0s ago"])
    finally:
        localyun.clock.unfreeze()
