"""The first page: what needs somebody, what just happened, what comes next."""

from selenium.webdriver.common.by import By

from tests.console.walking import eventually, opened, press, speak, text, texts

FAILING = "version: v1\ntype: flow\nsteps:\n- {type: fail, name: end, error: Broken}\n"
WAITING = (
    "version: v1\ntype: flow\nsteps:\n- type: task\n  name: ask\n  resourceArn: acs:mns:::/queues/asks/messages\n"
    "  pattern: waitForCallback\n  serviceParams:\n    MessageBody: $\n"
)


def row(console, section, words):
    """The row of a section with these words."""
    rows = texts(console, f"section[aria-labelledby={section}] tr")
    return next((each for each in rows if words in each), "")


def test_failures_stand_once_each_with_count_and_reason(console, localyun):
    """Executions, functions and refused requests; the way on leads to the page of the latest."""
    speak(console, localyun, "en")
    flow = localyun.flow("failing", FAILING)
    for name in ("one", "two"):
        flow.start(name=name)
    localyun.queue("asks")
    localyun.flow("asking", WAITING).start(name="open")
    localyun.invoke("fragile")
    opened(console, localyun, "/")

    assert eventually(console, lambda: " 2 " in row(console, "needs", "failing"))
    for section, words, said in (
        ("needs", "failing", "the execution failed"),
        ("needs", "fragile", "ValueError: no tea left"),
        ("needs", "mns", "the signature was refused"),
        ("latest", "InvokeFunction", "the function failed"),
    ):
        assert eventually(console, lambda: said in row(console, section, words)), said  # noqa: B023 - called at once
    assert eventually(console, lambda: "ask waits for a report" in text(console))

    press(console, ".notice summary")
    press(console, ".notice button[value=succeeded]")
    assert eventually(console, lambda: console.find_element(By.TAG_NAME, "h1").text == "open Succeeded")

    opened(console, localyun, "/")
    press(console, "two", By.LINK_TEXT)
    assert eventually(console, lambda: console.find_element(By.TAG_NAME, "h1").text.startswith("two"))


def test_failures_of_a_state_that_was_left_need_nobody(console, localyun):
    """Their executions are gone with it: an exploration makes some in each of its runs."""
    flow = localyun.flow("left", FAILING)
    before = localyun.checkpoint("before")
    flow.start(name="one")
    localyun.settle()
    opened(console, localyun, "/")
    assert eventually(console, lambda: row(console, "needs", "left") != "")

    before.restore()

    opened(console, localyun, "/")
    assert eventually(console, lambda: row(console, "needs", "left") == "")


def test_pushes_to_sinks_are_no_requests_that_matter(console, localyun):
    """What a program has published stands among what just happened; that the emulator has pushed it, on its topic."""
    topic = localyun.topic("overview-news")
    topic.subscribe(localyun.sink().url, name="inbox")
    for number in range(15):
        topic.publish(f"tea {number}")
    localyun.settle()

    opened(console, localyun, "/")

    assert "PublishMessage \u00d7 15" in row(console, "latest", "overview-news")
    assert row(console, "latest", "sink") == ""
