"""Accounts and queues: every attribute, range, default and list option, through the XML API."""

import pytest

from emulator.services.mns.limits import STRICT
from emulator.services.mns.queues.model import DeadLetterPolicy, Encryption, RateLimit

ATTRIBUTES = {
    "DelaySeconds": (0, 604_800, 0),
    "MaximumMessageSize": (1_024, 65_536, 65_536),
    "MessageRetentionPeriod": (60, 604_800, 345_600),
    "VisibilityTimeout": (1, 43_200, 30),
    "PollingWaitSeconds": (0, 30, 0),
}
EDGES = [(name, value) for name, (low, high, _) in ATTRIBUTES.items() for value in (low, high)]
BEYOND = [(name, value) for name, (low, high, _) in ATTRIBUTES.items() for value in (low - 1, high + 1)]


def queue_xml(namespace=' xmlns="http://mns.aliyuncs.com/doc/v1/"', **attributes):
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in attributes.items())
    return f"<Queue{namespace}>{inner}</Queue>"


def attributes_of(mns, name="q"):
    from emulator.wire.xml import parse

    answer = mns.call("GET", f"/queues/{name}")
    assert answer.status == 200
    return {child.name: child.text for child in parse(answer.body).children}


def test_a_new_queue_is_201_with_its_address(mns):
    """The Python client reads the Location, in whatever case the answer has."""
    answer = mns.call("PUT", "/queues/demo", queue_xml())

    assert (answer.status, answer.body) == (201, b"")
    assert answer.header("location") == "http://127.0.0.1:8868/queues/demo"


@pytest.mark.parametrize(
    "body",
    [
        queue_xml(),
        queue_xml(LoggingEnabled="false"),
        queue_xml(VisibilityTimeout=30, PollingWaitSeconds=0),
        queue_xml(namespace=""),
        "",
    ],
    ids=["nothing", "only-logging", "defaults-spelled-out", "no-namespace", "no-body"],
)
def test_creating_again_with_the_same_attributes_is_204_with_the_address(mns, body):
    """What a request leaves out counts as the default."""
    mns.call("PUT", "/queues/demo", queue_xml())

    answer = mns.call("PUT", "/queues/demo", body)

    assert (answer.status, answer.header("location")) == (204, "http://127.0.0.1:8868/queues/demo")


def test_creating_again_with_other_attributes_is_a_conflict(mns):
    """The existing queue keeps what it has."""
    mns.call("PUT", "/queues/demo", queue_xml())

    assert mns.error("PUT", "/queues/demo", queue_xml(VisibilityTimeout=31)) == (409, "QueueAlreadyExist")
    assert attributes_of(mns, "demo")["VisibilityTimeout"] == "30"


def test_creating_again_without_what_was_chosen_is_a_conflict(mns):
    """A default differs from what the queue has, also when the request does not spell it out."""
    mns.call("PUT", "/queues/demo", queue_xml(DelaySeconds=5))

    assert mns.error("PUT", "/queues/demo", queue_xml()) == (409, "QueueAlreadyExist")


def test_a_queue_of_the_management_api_can_be_created_again_by_the_xml_api(mns):
    """The XML API cannot name a FIFO type, so it does not count there."""
    mns.create("demo", fifo=True, tags=(("team", "a"),))

    assert mns.call("PUT", "/queues/demo", queue_xml()).status == 204


@pytest.mark.parametrize("name", ["a", "A-1", "1a", "x" * 256, "a--b-"])
def test_names_that_are_allowed(mns, name):
    """Letters, digits and hyphens, a letter or digit first."""
    assert mns.call("PUT", f"/queues/{name}", queue_xml()).status == 201


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("-a", "InvalidQueueName"),
        ("a_b", "InvalidQueueName"),
        ("a%20b", "InvalidQueueName"),
        ("%E9%98%9F", "InvalidQueueName"),
        ("a%0A", "InvalidQueueName"),
        ("x" * 257, "QueueNameLengthError"),
    ],
)
def test_names_that_are_refused(mns, name, code):
    """Nothing is created."""
    assert mns.error("PUT", f"/queues/{name}", queue_xml()) == (400, code)
    assert mns.service.queues.page(mns.tenant).items == []


def test_the_strict_profile_enforces_the_documented_length(make_mns):
    """Documents say 120 and 256; strict is the shorter."""
    mns = make_mns(profile=STRICT)

    assert mns.call("PUT", f"/queues/{'x' * 120}", queue_xml()).status == 201
    assert mns.error("PUT", f"/queues/{'x' * 121}", queue_xml()) == (400, "QueueNameLengthError")
    assert b"should between 1 and 120." in mns.call("PUT", f"/queues/{'x' * 121}", queue_xml()).body


@pytest.mark.parametrize(("element", "value"), EDGES)
def test_the_edges_of_every_range_are_allowed(mns, element, value):
    """Lowest and highest values are stored."""
    assert mns.call("PUT", "/queues/q", queue_xml(**{element: value})).status == 201

    assert attributes_of(mns)[element] == str(value)


@pytest.mark.parametrize(("element", "value"), BEYOND)
def test_beyond_every_range_is_refused(mns, element, value):
    """Neither create nor set takes it, and the message names element and range."""
    answer = mns.call("PUT", "/queues/q", queue_xml(**{element: value}))
    low, high, _ = ATTRIBUTES[element]

    assert answer.status == 400
    assert f"<Message>The value of {element} should between {low} and {high} " in answer.body.decode()
    mns.create()
    before = attributes_of(mns)
    assert mns.error("PUT", "/queues/q?metaoverride=true", queue_xml(**{element: value})) == (400, "InvalidArgument")
    assert attributes_of(mns) == before


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("<Queue>", "MalformedXML"),
        ("nonsense", "MalformedXML"),
        ('<!DOCTYPE q [<!ENTITY a "b">]><Queue/>', "MalformedXML"),
        ("<Message/>", "InvalidArgument"),
        (queue_xml(DelaySeconds="soon"), "InvalidArgument"),
        (queue_xml(DelaySeconds=""), "InvalidArgument"),
        (queue_xml(DelaySeconds="1.5"), "InvalidArgument"),
        (queue_xml(DelaySeconds="\u0665"), "InvalidArgument"),
        (queue_xml(DelaySeconds="9" * 30), "InvalidArgument"),
        (queue_xml(LoggingEnabled="maybe"), "InvalidArgument"),
    ],
)
def test_bad_bodies_create_nothing(mns, body, code):
    """Malformed XML and wrong content have their own codes."""
    assert mns.error("PUT", "/queues/q", body) == (400, code)
    assert mns.error("GET", "/queues/q") == (404, "QueueNotExist")


def test_elements_nobody_knows_are_ignored(mns):
    """Clients of other generations send more."""
    assert mns.call("PUT", "/queues/q", queue_xml(Slices=1, DelaySeconds=3)).status == 201
    assert attributes_of(mns)["DelaySeconds"] == "3"


def test_attributes_are_written_as_the_live_service_does(mns):
    """Order, layout, booleans and seconds, byte for byte."""
    mns.call("PUT", "/queues/demo", queue_xml())

    answer = mns.call("GET", "/queues/demo")

    assert answer.body.decode() == (
        '<?xml version="1.0" ?>\n'
        '<Queue xmlns="http://mns.aliyuncs.com/doc/v1">\n'
        "  <QueueName>demo</QueueName>\n"
        "  <DelaySeconds>0</DelaySeconds>\n"
        "  <MaximumMessageSize>65536</MaximumMessageSize>\n"
        "  <MessageRetentionPeriod>345600</MessageRetentionPeriod>\n"
        "  <VisibilityTimeout>30</VisibilityTimeout>\n"
        "  <CreateTime>1700000000</CreateTime>\n"
        "  <LastModifyTime>1700000000</LastModifyTime>\n"
        "  <PollingWaitSeconds>0</PollingWaitSeconds>\n"
        "  <ActiveMessages>0</ActiveMessages>\n"
        "  <InactiveMessages>0</InactiveMessages>\n"
        "  <DelayMessages>0</DelayMessages>\n"
        "  <LoggingEnabled>False</LoggingEnabled>\n"
        "  <MessageType>0</MessageType>\n"
        "  <EnableSSE>False</EnableSSE>\n"
        "</Queue>"
    )
    assert answer.header("Content-Type") == "text/xml;charset=utf-8"
    assert ("x-mns-request-id", mns.context.request_id) in answer.headers


def test_setting_changes_only_what_is_named(mns):
    """And the instant of the change is kept in seconds."""
    mns.call("PUT", "/queues/q", queue_xml(DelaySeconds=5, LoggingEnabled="True"))
    mns.advance(100)

    answer = mns.call("PUT", "/queues/q?metaoverride=true", queue_xml(PollingWaitSeconds=7))

    assert (answer.status, answer.body) == (204, b"")
    told = attributes_of(mns)
    assert (told["DelaySeconds"], told["PollingWaitSeconds"], told["LoggingEnabled"]) == ("5", "7", "True")
    assert (told["CreateTime"], told["LastModifyTime"]) == ("1700000000", "1700000100")


@pytest.mark.parametrize("query", ["metaoverride=true", "metaOverride=True", "MetaOverride=true&x=y"])
def test_the_override_is_found_in_any_spelling(mns, query):
    """Clients differ in the letters of query names."""
    mns.create()

    assert mns.call("PUT", f"/queues/q?{query}", queue_xml(DelaySeconds=9)).status == 204
    assert attributes_of(mns)["DelaySeconds"] == "9"


@pytest.mark.parametrize(
    ("method", "target"), [("GET", "/queues/q"), ("PUT", "/queues/q?metaoverride=true")], ids=["get", "set"]
)
def test_a_queue_that_is_not_there(mns, method, target):
    """Before the body is looked at."""
    assert mns.error(method, target, "<broken") == (404, "QueueNotExist")


def test_settings_of_the_management_api_survive_a_restart(tmp_path, make_mns):
    """Dead letters, rate limit, encryption, type and tags are kept as given."""
    chosen = {
        "fifo": True,
        "dead_letter": DeadLetterPolicy(enabled=True, target="dead", max_receives=3),
        "rate_limit": RateLimit(enabled=True, max_receives_per_second=10),
        "encryption": Encryption(enabled=True, kind="KMS", algorithm="AES256", key_id="k"),
        "tags": (("team", "ä"), ("x", "")),
    }
    mns = make_mns(tmp_path / "s.db")
    mns.create("q", **chosen)

    again = make_mns(tmp_path / "s.db")

    settings = again.service.queues.view(again.tenant, "q").queue.settings
    assert {name: getattr(settings, name) for name in chosen} == chosen


@pytest.mark.parametrize(
    "policy",
    [
        DeadLetterPolicy(enabled=True, target="q"),
        DeadLetterPolicy(enabled=True, target=""),
        DeadLetterPolicy(enabled=True, target="d", max_receives=0),
        DeadLetterPolicy(enabled=True, target="d", max_receives=1001),
    ],
    ids=["itself", "nothing", "never", "too-often"],
)
def test_dead_letter_policies_that_are_refused(mns, policy):
    """A queue may not be its own dead-letter queue."""
    from emulator.services.mns.errors import MnsError

    with pytest.raises(MnsError, match=r"^InvalidArgument:"):
        mns.service.queues.create(mns.tenant, "q", {"dead_letter": policy})


def test_deleting_takes_the_messages_along(mns):
    """A queue created again under the name is empty, and handles of the old one are no good."""
    mns.create()
    mns.send()
    handle = mns.receive().text_of("ReceiptHandle")
    mns.send()

    assert mns.call("DELETE", "/queues/q").status == 204

    assert mns.error("GET", "/queues/q") == (404, "QueueNotExist")
    mns.create()
    assert mns.counters() == (0, 0, 0)
    assert mns.error("DELETE", f"/queues/q/messages?ReceiptHandle={handle}") == (400, "ReceiptHandleError")


def test_deleting_what_is_not_there_is_204(mns):
    """No client knows an error for it."""
    assert mns.call("DELETE", "/queues/nothing").status == 204


def test_a_large_deleted_queue_leaves_the_file_bit_by_bit(mns):
    """Other requests need not wait for it."""
    mns.create()
    for _ in range(450):
        mns.service.send(mns.tenant, "q", "x")

    mns.call("DELETE", "/queues/q")

    def left():
        return mns.database.read("SELECT count(*) FROM mns_messages").fetchone()[0]

    assert left() == 250
    mns.advance(0.005)
    assert left() == 50
    mns.advance(1)
    assert left() == 0
    assert mns.database.read("SELECT count(*) FROM mns_deleted_queues").fetchone()[0] == 0


def test_the_remains_of_a_deleted_queue_go_after_a_restart(tmp_path, make_mns):
    """What a process could not finish, the next one does."""
    mns = make_mns(tmp_path / "s.db")
    mns.create()
    for _ in range(450):
        mns.service.send(mns.tenant, "q", "x")
    mns.call("DELETE", "/queues/q")

    again = make_mns(tmp_path / "s.db")
    again.advance(1)

    assert again.database.read("SELECT count(*) FROM mns_messages").fetchone()[0] == 0


def names_and_marker(mns, **headers):
    from emulator.wire.xml import parse

    answer = mns.call("GET", "/queues", **headers)
    assert answer.status == 200
    root = parse(answer.body)
    assert root.name == "Queues"
    urls = [queue.text_of("QueueURL") for queue in root.all("Queue")]
    assert all(url.startswith("http://127.0.0.1:8868/queues/") for url in urls)
    return [url.rpartition("/")[2] for url in urls], root.text_of("NextMarker")


def test_an_empty_list_is_an_empty_root(mns):
    """No child at all: the Python client fails on empty ones."""
    answer = mns.call("GET", "/queues")

    assert answer.status == 200
    assert answer.body.decode().endswith('<Queues xmlns="http://mns.aliyuncs.com/doc/v1"></Queues>')


def test_lists_are_sorted_and_paged(mns):
    """The marker leads to the rest, whatever is created or deleted between the pages."""
    for name in ("b", "a", "d", "c", "ba"):
        mns.create(name)

    first, marker = names_and_marker(mns, x_mns_ret_number="2")
    mns.call("DELETE", "/queues/a")
    second, end = names_and_marker(mns, x_mns_ret_number="3", x_mns_marker=marker)

    assert (first, second, end) == (["a", "b"], ["ba", "c", "d"], None)


def test_lists_take_a_prefix(mns):
    """Case matters, and the prefix may be the whole name."""
    for name in ("job", "jobs", "Jobs", "tasks"):
        mns.create(name)

    assert names_and_marker(mns, x_mns_prefix="job") == (["job", "jobs"], None)
    assert names_and_marker(mns, x_mns_prefix="zzz") == ([], None)


def test_lists_with_meta_have_every_attribute_and_no_empty_element(mns):
    """The same elements as of a single queue, after the address."""
    from emulator.wire.xml import parse

    mns.create()
    mns.send()

    root = parse(mns.call("GET", "/queues", x_mns_with_meta="true").body)

    children = {child.name: child.text for child in root.children[0].children}
    assert children == {"QueueURL": "http://127.0.0.1:8868/queues/q", **attributes_of(mns)}
    assert all(children.values())


@pytest.mark.parametrize(
    "headers",
    [
        {"x_mns_ret_number": "0"},
        {"x_mns_ret_number": "1001"},
        {"x_mns_ret_number": "many"},
        {"x_mns_marker": "not base64!"},
        {"x_mns_marker": "/w=="},
    ],
)
def test_bad_list_options(mns, headers):
    """Refused with the service's code."""
    assert mns.error("GET", "/queues", **headers) == (400, "InvalidArgument")


def test_worlds_do_not_see_each_other(mns):
    """Another account or region has its own queues."""
    from emulator.kernel.identity import AccountId, Tenant

    mns.create()
    mns.tenant = Tenant(AccountId("2"), mns.tenant.region)

    assert names_and_marker(mns) == ([], None)
    assert mns.error("GET", "/queues/q") == (404, "QueueNotExist")


def test_account_attributes_start_empty_but_present(mns):
    """The Python client asks for LoggingBucket even when there is none."""
    answer = mns.call("GET", "/?accountmeta=true")

    assert answer.status == 200
    assert b"<LoggingBucket></LoggingBucket>" in answer.body
    assert b"<TraceEnabled>0</TraceEnabled>" in answer.body


@pytest.mark.parametrize(("sent", "told"), [("1", "1"), ("0", "0"), ("true", "1"), ("False", "0")])
def test_account_attributes_are_kept(mns, sent, told):
    """Only what a request names changes."""
    answer = mns.call("PUT", "/?accountmeta=true", "<Account><LoggingBucket>logs</LoggingBucket></Account>")
    mns.call("PUT", "/?accountMeta=true", f"<Account><TraceEnabled>{sent}</TraceEnabled></Account>")

    assert answer.status == 204
    body = mns.call("GET", "/?accountmeta=true").body.decode()
    assert "<LoggingBucket>logs</LoggingBucket>" in body
    assert f"<TraceEnabled>{told}</TraceEnabled>" in body


def test_bad_account_attributes(mns):
    """Refused, nothing changed."""
    assert mns.error("PUT", "/?accountmeta=true", "<Queue/>") == (400, "InvalidArgument")
    assert mns.error("PUT", "/?accountmeta=true", "<Account><TraceEnabled>2</TraceEnabled></Account>") == (
        400,
        "InvalidArgument",
    )


def test_account_id_and_order(mns):
    """What Java and Python ask beside queues."""
    assert b"<AccountId>1234567890123456</AccountId>" in mns.call("GET", "/?account").body
    answer = mns.call("POST", "/commonbuy/openservice")
    assert answer.status == 200
    assert b"<OpenService " in answer.body
    assert b"<OrderId>" in answer.body


def test_reset_forgets_everything(mns):
    """Queues, messages and account attributes."""
    mns.create()
    mns.send()
    mns.call("PUT", "/?accountmeta=true", "<Account><LoggingBucket>logs</LoggingBucket></Account>")

    mns.service.reset()

    assert names_and_marker(mns) == ([], None)
    assert b"<LoggingBucket></LoggingBucket>" in mns.call("GET", "/?accountmeta=true").body
    mns.create()
    assert mns.counters() == (0, 0, 0)
