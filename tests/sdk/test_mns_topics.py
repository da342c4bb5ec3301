"""Topics and subscriptions through the official Python client, pushes through a real receiver."""

import base64
import http.server
import logging
import queue
import threading
import urllib.request
import uuid

import pytest
from mns.account import Account
from mns.mns_exception import MNSServerException
from mns.queue import QueueMeta
from mns.subscription import SubscriptionMeta
from mns.topic import DirectMailInfo, DirectSMSInfo, TopicMessage, TopicMeta

pytestmark = pytest.mark.sdk


@pytest.fixture
def topic(account):
    """A topic of its own, removed afterwards."""
    topic = account.get_topic(f"topic-{uuid.uuid4().hex[:12]}")
    topic.create(TopicMeta())
    yield topic
    topic.delete()


@pytest.fixture
def inbox(account):
    """A queue of its own that gives bodies as they are, removed afterwards."""
    made = account.get_queue(f"inbox-{uuid.uuid4().hex[:12]}")
    made.set_encoding(False)
    made.create(QueueMeta())
    yield made
    made.delete()


class Receiver:
    """A web server that keeps what is pushed to it; on a free port unless one is given."""

    def __init__(self, port: int = 0, status: int = 204) -> None:
        self.received: queue.Queue = queue.Queue()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.received.put((self.path, self.headers, body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *parts):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def queue_endpoint(inbox):
    # as SDK helpers make it of a local address: account and region are nonsense
    return f"acs:mns:0:127:queues/{inbox.queue_name}"


def test_a_topic_can_be_created_twice_with_the_same_attributes_only(account, topic):
    """201 and 204 both carry the address; other attributes are a conflict."""
    again = topic.create(TopicMeta())
    with pytest.raises(MNSServerException) as caught:
        topic.create(TopicMeta(maximum_message_size=2048))

    assert again.endswith(f"/topics/{topic.topic_name}")
    assert caught.value.type == "TopicAlreadyExist"


def test_attributes_are_set_and_read(topic):
    """What is set is what is read; the others stay."""
    topic.set_attributes(TopicMeta(maximum_message_size=4096, logging_enabled=True))
    meta = topic.get_attributes()

    assert (meta.maximum_message_size, meta.logging_enabled) == (4096, True)
    assert (meta.message_retention_period, meta.message_count, meta.topic_name) == (86400, 0, topic.topic_name)
    assert meta.create_time > 1_600_000_000


def test_topics_are_listed_page_by_page(account, topic):
    """The client always asks for attributes and gets addresses."""
    prefix = topic.topic_name
    others = [account.get_topic(f"{prefix}-{number}") for number in range(2)]
    for other in others:
        other.create(TopicMeta())

    first, marker = account.list_topic(prefix, 2)
    second, end = account.list_topic(prefix, 2, marker)
    for other in others:
        other.delete()

    names = [url.rpartition("/")[2] for url in [*first, *second]]
    assert names == [prefix, f"{prefix}-0", f"{prefix}-1"]
    assert (len(first), end) == (2, "")


def test_a_missing_topic_is_named(account):
    """The client's exception carries the code."""
    with pytest.raises(MNSServerException) as caught:
        account.get_topic("nobody").publish_message(TopicMessage("x"))

    assert caught.value.type == "TopicNotExist"


def test_subscriptions_are_made_read_listed_and_ended(account, topic, inbox):
    """The life of a subscription."""
    subscription = topic.get_subscription("sub")
    endpoint = queue_endpoint(inbox)
    meta = SubscriptionMeta(endpoint, notify_strategy="BACKOFF_RETRY", notify_content_format="JSON", filter_tag="red")
    url = subscription.subscribe(meta)

    again = subscription.subscribe(meta)
    read = subscription.get_attributes()
    listed, _ = topic.list_subscription()
    subscription.set_attributes(SubscriptionMeta(notify_strategy="EXPONENTIAL_DECAY_RETRY"))
    changed = subscription.get_attributes()
    with pytest.raises(MNSServerException) as conflict:
        subscription.subscribe(meta)
    subscription.unsubscribe()
    with pytest.raises(MNSServerException) as gone:
        subscription.get_attributes()

    assert url == again == listed[0]
    assert (read.endpoint, read.filter_tag, read.notify_content_format) == (endpoint, "red", "JSON")
    assert changed.notify_strategy == "EXPONENTIAL_DECAY_RETRY"
    assert conflict.value.type == "SubscriptionAlreadyExist"
    assert gone.value.type == "SubscriptionNotExist"


def test_an_endpoint_of_no_known_form_is_refused(topic):
    """EndpointInvalid."""
    with pytest.raises(MNSServerException) as caught:
        topic.get_subscription("sub").subscribe(SubscriptionMeta("carrier-pigeon:home"))

    assert caught.value.type == "EndpointInvalid"


def test_a_message_goes_to_a_queue_as_plain_text(account, topic, inbox):
    """The bare body, with no Base64 layer."""
    meta = SubscriptionMeta(queue_endpoint(inbox), notify_content_format="SIMPLIFIED")
    topic.get_subscription("sub").subscribe(meta)

    published = topic.publish_message(TopicMessage("hello <&> 你好", "tag"))
    message = inbox.receive_message(1)

    assert message.message_body == "hello <&> 你好"
    assert message.message_id != published.message_id
    assert len(published.message_body_md5) == 32


def test_a_push_is_verified_as_the_vendor_s_own_sample_does_it(topic, receiver):
    """Certificate fetched from the address in the header, signature over method, headers and path."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    meta = SubscriptionMeta(receiver.url + "/notify?from=topic", notify_content_format="SIMPLIFIED")
    topic.get_subscription("web").subscribe(meta)

    published = topic.publish_message(TopicMessage("hello", "red"))
    path, headers, body = receiver.received.get(timeout=10)

    service = sorted((name, headers[name]) for name in headers if name.startswith("x-mns-"))
    text = "\n".join(
        ["POST", headers["Content-md5"], headers["Content-Type"], headers["Date"]]
        + [f"{name}:{value}" for name, value in service]
        + [path]
    )
    url = base64.b64decode(headers["x-mns-signing-cert-url"]).decode()
    with urllib.request.urlopen(url, timeout=10) as answer:
        certificate = x509.load_pem_x509_certificate(answer.read())
    signature = base64.b64decode(headers["Authorization"])
    certificate.public_key().verify(signature, text.encode(), padding.PKCS1v15(), hashes.SHA1())
    assert (path, body) == ("/notify?from=topic", b"hello")
    assert headers["x-mns-message-id"] == published.message_id
    assert headers["x-mns-message-tag"] == "red"
    assert certificate.version is x509.Version.v3


def test_mail_and_short_messages_are_accepted(topic):
    """Nothing is sent; the publish succeeds all the same."""
    topic.get_subscription("mail").subscribe(SubscriptionMeta("mail:directmail:someone@example.com"))
    topic.get_subscription("sms").subscribe(SubscriptionMeta("sms:directsms:anonymous"))
    mail = DirectMailInfo(account_name="a@example.com", subject="s", address_type=0, is_html=0, reply_to_address=0)
    sms = DirectSMSInfo(free_sign_name="sign", template_code="T1", single=False)
    sms.add_receiver(receiver="13800000000", params={"name": "x"})

    published = topic.publish_message(TopicMessage("hello", "", mail, sms))

    assert published.message_id


def test_retries_come_sooner_on_a_shrunken_timetable(new_emulator):
    """With a scale of a hundredth the three retries of the back-off come within half a second, and then no more."""
    emulator = new_emulator(None, "--push-retry-scale", "0.01").start()
    client = (emulator.url, emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"])
    account = Account(*client, logger=logging.getLogger("test.mns"))
    receiver = Receiver(status=500)
    topic = account.get_topic("impatient")
    topic.create(TopicMeta())
    topic.get_subscription("web").subscribe(SubscriptionMeta(f"{receiver.url}/", "BACKOFF_RETRY", "SIMPLIFIED"))

    topic.publish_message(TopicMessage("never taken"))
    try:
        attempts = [receiver.received.get(timeout=8)[2] for _ in range(4)]
        with pytest.raises(queue.Empty):
            receiver.received.get(timeout=1)
    finally:
        receiver.close()
        account.get_client().close_connection()

    assert attempts == [b"never taken"] * 4
    assert emulator.stop() == 0


@pytest.mark.recovery
def test_a_killed_emulator_goes_on_pushing_where_it_was(new_emulator):
    """A message nobody has taken yet reaches its subscriber after the restart."""
    emulator = new_emulator().start()
    account = Account(
        emulator.url,
        emulator.keys["accessKeyId"],
        emulator.keys["accessKeySecret"],
        logger=logging.getLogger("test.mns"),
    )
    receiver = Receiver()
    port = receiver.server.server_port
    receiver.close()  # nobody listens for now
    topic = account.get_topic("survivor")
    topic.create(TopicMeta())
    meta = SubscriptionMeta(f"http://127.0.0.1:{port}/", "EXPONENTIAL_DECAY_RETRY", "SIMPLIFIED")
    topic.get_subscription("web").subscribe(meta)
    topic.publish_message(TopicMessage("still here"))
    emulator.kill()
    account.get_client().close_connection()

    receiver = Receiver(port)
    emulator.start()
    try:
        path, _, body = receiver.received.get(timeout=20)
    finally:
        receiver.close()

    assert (path, body) == ("/", b"still here")
    assert emulator.stop() == 0
