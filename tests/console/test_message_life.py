"""“My message did not arrive”: from the overview to the reason in three clicks at most."""

from email.utils import formatdate
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from selenium.webdriver.common.by import By

from emulator.auth import mns
from emulator.http.message import Headers, Request
from emulator.testing import Emulator
from tests.console.browser import resize
from tests.console.scene import refused
from tests.console.walking import eventually, opened, speak, text, texts

CONFIG = """
queues:
  fragile:
    VisibilityTimeout: 1
    DlqPolicy: {DeadLetterTargetQueue: dead, MaxReceiveCount: 1}
  dead:
  orders:
topics: {raising: {}, slow: {}, hungry: {}}
flows:
  nightly: flow.yml
schedules:
  sleeper: {FlowName: nightly, CronExpression: "0 0 2 * * *", Enable: false}
"""
FLOW = "version: v1\ntype: flow\nsteps:\n- {type: pass, name: done}\n"
RAISING = "def handler(event, context):\n    raise ValueError('no tea left')\n"
FUNCTIONS = {
    "raising": (RAISING, ""),
    "slow": ("import time\n\n\ndef handler(event, context):\n    time.sleep(30)\n", "timeout: 1\n"),
    "hungry": ("def handler(event, context):\n    return len(bytearray(400_000_000))\n", "memorySize: 128\n"),
}
"""Code and settings of functions that fail; each has a trigger on the topic of its name."""

TRIGGER = "triggers:\n- {{name: {name}, type: mns_topic, sourceArn: 'acs:mns:::/topics/{name}'}}\n"
FED = "triggers:\n- {name: fed, type: mns_queue, queue: orders}\n"
KEYS = (
    "import json\nimport os\n\n\ndef handler(event, context):\n"
    "    return json.dumps([os.environ[f'ALIBABA_CLOUD_ACCESS_KEY_{each}'] for each in ('ID', 'SECRET')])\n"
)
AWAITED = (
    "version: v1\ntype: flow\nsteps:\n- type: task\n  name: ask\n  resourceArn: acs:mns:::/queues/asks/messages\n"
    "  pattern: waitForCallback\n  serviceParams:\n    MessageBody: $\n"
)


@pytest.fixture(scope="module")
def localyun(tmp_path_factory):
    """An emulator with functions that fail, a queue with dead letters, and a schedule that is switched off."""
    folder = tmp_path_factory.mktemp("functions")
    files = {
        f"{name}/function.yml": f"{settings}{TRIGGER.format(name=name)}" for name, (_, settings) in FUNCTIONS.items()
    }
    files |= {f"{name}/index.py": code for name, (code, _) in FUNCTIONS.items()}
    files |= {"fed/index.py": RAISING, "fed/function.yml": FED, "keys/index.py": KEYS}
    for path, content in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(content, encoding="utf-8")
    place = tmp_path_factory.mktemp("project")
    (place / "localyun.yaml").write_text(CONFIG, encoding="utf-8")
    (place / "flow.yml").write_text(FLOW, encoding="utf-8")
    with Emulator(functions=folder, config=place / "localyun.yaml") as kit:
        yield kit


@pytest.fixture(autouse=True)
def _english(console, localyun):
    resize(console, 1440, 900)
    speak(console, localyun, "en")


class Walk:
    """Somebody who looks for a message, beginning at the overview; ``clicks`` counts."""

    def __init__(self, console, localyun):
        self.console = console
        self.clicks = 0
        opened(console, localyun, "/")

    def click(self, words):
        """Follow a link by its words, or by the id that it leads to."""
        link = f"//main//a[normalize-space() = '{words}' or contains(@href, '{words}')]"
        before = self.console.current_url
        eventually(self.console, lambda: self.console.find_element(By.XPATH, link).click() is None)
        eventually(self.console, lambda: self.console.current_url != before)
        self.clicks += 1

    def reasons(self):
        """The reasons that the page of a message gives."""
        return [each.get_attribute("data-reason") for each in self.console.find_elements(By.CSS_SELECTOR, ".reason")]


@pytest.fixture
def walk(console, localyun):
    """Begins a walk at the overview; it is at an end after three clicks."""
    walks = []

    def begin(*links):
        walks.append(Walk(console, localyun))
        for each in ("A message did not arrive?", *links):
            walks[-1].click(each)
        return walks[-1]

    yield begin
    assert all(each.clicks <= 3 for each in walks)


def received(localyun, queue, body="tea"):
    """Send a message and receive it."""
    sent = queue.send(body)
    assert queue.receive().id == sent
    return sent


def dead(localyun):
    """Return a message that was received once too often."""
    sent = received(localyun, localyun.queue("fragile"))
    localyun.clock.advance("5s")
    return sent


def refusing(localyun):
    """Return a message that its subscriber answers with 403."""
    topic = localyun.topic("refusals")
    topic.subscribe(localyun.sink([{"status": 403}] * 9).url, name="shut")
    return topic.publish("tea")


def filtered(localyun):
    """Return a message whose tag is not the one that the subscription wants."""
    topic = localyun.topic("tagged")
    topic.subscribe(localyun.sink().url, name="green", tag="green")
    return topic.publish("tea", tag="black")


def mixed(localyun):
    """Return a message in plain text in a queue of messages in Base64."""
    queue = localyun.queue("mixed")
    queue.send("a text that is long enough", base64=True)
    return queue.send("tea")


def awaited(localyun):
    """Return a message whose flow waits for its token."""
    queue = localyun.queue("asks")
    localyun.flow("asking", AWAITED).start({"who": "you"}, name="open")
    return queue.receive(wait_s=20).id


CASES = {
    "delayed": (lambda it: it.queue("late").send("tea", delay_s=600), "delayed", "It was sent with a delay"),
    "in flight": (lambda it: received(it, it.queue("held")), "in flight", "A consumer has received it"),
    "dead letter": (dead, "dead letter", "moved to the dead-letter queue"),
    "push refused": (refusing, "push refused", "403"),
    "function raised": (lambda it: it.topic("raising").publish("tea"), "function raised", "ValueError: no tea left"),
    "taken by a trigger": (lambda it: it.queue("orders").send("tea"), "function raised", "taken by trigger fed fed"),
    "timed out": (lambda it: it.topic("slow").publish("tea"), "timed out", "Function timed out after 1 seconds"),
    "out of memory": (lambda it: it.topic("hungry").publish("tea"), "out of memory", "more memory than its limit"),
    "filter tag": (filtered, "filter tag", "green ≠ black"),
    "nobody": (lambda it: it.topic("lonely").publish("tea"), "no subscriber", "has no subscription"),
    "encoding differs": (mixed, "encoding", "Base64 and plain text are mixed"),
    "token awaited": (awaited, "report awaited", "waits for a report with its task token"),
}


@pytest.mark.usefixtures("photographed")
@pytest.mark.parametrize(("make", "reason", "words"), CASES.values(), ids=CASES)
def test_reason_is_two_clicks_from_the_overview(console, localyun, walk, make, reason, words):
    """The list of messages, the message: why it is where it is, in a sentence and with what was answered."""
    message = make(localyun)
    localyun.settle(timeout=60)

    found = walk(message)

    assert eventually(console, lambda: reason in found.reasons())
    assert eventually(console, lambda: words in text(console))


def without_token(localyun):
    """Send a request with temporary keys that leaves their token out; return its id."""
    return listing(localyun, *localyun.invoke("keys").json())


def an_hour_behind(localyun):
    """Send a request of a client whose clock is wrong; return its id. The service does not answer it with 403."""
    earlier = localyun.clock.now().timestamp() - 3600
    return listing(localyun, localyun.access_key_id, localyun.access_key_secret, formatdate(earlier, usegmt=True))


def listing(localyun, id, secret, date=""):
    """Send a request for the list of queues, signed with a secret at a *date*; return its id."""
    address = urlsplit(localyun.endpoint)
    headers = {"Host": address.netloc, "Date": date or formatdate(usegmt=True), "x-mns-version": "2015-06-06"}
    request = Request("GET", "/queues", Headers(headers.items()))
    headers["Authorization"] = mns.authorization(request, id, secret)
    connection = HTTPConnection(address.hostname, address.port, timeout=20)
    try:
        connection.request("GET", "/queues", headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.headers["x-mns-request-id"]
    finally:
        connection.close()


@pytest.mark.usefixtures("photographed")
@pytest.mark.parametrize(
    ("send", "words"),
    [
        (refused, "The path was signed in another form"),
        (without_token, "The security token is missing"),
        (an_hour_behind, "The clock of the client is wrong"),
    ],
    ids=["signature refused", "token missing", "clock wrong"],
)
def test_request_that_became_no_message_is_named_with_its_cause(console, localyun, walk, send, words):
    """One click shows the cause, a second what was signed."""
    request = send(localyun)

    found = walk()

    assert words in text(console)
    found.click(request)
    assert words in text(console)


@pytest.mark.usefixtures("photographed")
def test_schedule_that_is_switched_off_is_named(console, localyun, walk):
    """One click shows it; what it would have started has sent nothing."""
    walk()

    assert "nightly/sleeper: disabled" in text(console)


def test_call_out_of_memory_says_so_at_each_attempt(console, localyun, walk):
    """With the megabytes that it used and those that it has, in place of the service's words for any lost process."""
    message = localyun.topic("hungry").publish("tea")
    localyun.settle(timeout=60)

    walk(message)

    assert eventually(console, lambda: "MB > 128 MB" in console.find_element(By.CSS_SELECTOR, ".reason").text)
    called = next(each for each in texts(console, ".life tbody tr") if "called hungry" in each)
    assert "out of memory" in called
    assert "exited unexpectedly" not in called


def test_life_of_a_message_stands_in_order_with_its_copies(console, localyun, walk):
    """Published, put into a queue, received, deleted: it has arrived."""
    queue, topic = localyun.queue("inbox"), localyun.topic("news")
    topic.subscribe(f"acs:mns:{localyun.region}:{localyun.account_id}:queues/inbox", name="copies")
    message = topic.publish("tea")
    queue.delete(queue.receive(wait_s=20))

    found = walk(message)

    rows = texts(console, ".life tbody tr")
    said = ["published to topic news", "pushed to news/copies", "put into queue inbox", "received mns", "deleted"]
    assert [words for words, row in zip(said, rows, strict=True) if words not in row] == []
    assert found.reasons() == ["arrived"]


def test_jump_leads_to_when_a_delayed_message_is_visible(console, localyun, walk):
    """The clock goes there, and the page says what is so then."""
    message = localyun.queue("soon").send("tea", delay_s=90)
    found = walk(message)

    console.find_element(By.CSS_SELECTOR, ".reason form button").click()

    assert eventually(console, lambda: found.reasons() == ["visible"])
    assert localyun.queue("soon").counters["active"] == 1
