"""Queues and topics on the command line, against a running emulator."""

import base64
import json
import sys

import pytest


@pytest.fixture
def queue(program):
    """A queue named orders."""
    program.start()
    assert program.run("queue", "create", "orders", "--visibility-timeout", "60").stdout == "created orders\n"


def rows(done):
    """Return the cells of a table without its heading."""
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()[1:]]


def data(done):
    """Return what a command printed as JSON."""
    return json.loads(done.stdout)


def test_queue_is_created_listed_changed_and_deleted(program, queue):
    """The life of a queue; creating the same again is no mistake, creating another one is."""
    same = program.run("queue", "create", "orders", "--visibility-timeout", "60")
    other = program.run("queue", "create", "orders", "--visibility-timeout", "61")
    program.run("queue", "create", "mails")
    changed = program.run("queue", "attributes", "orders", "--delay-seconds", "7", "--logging-enabled", "--json")
    shown = program.run("queue", "attributes", "orders")
    listed = program.run("queue", "list", "--prefix", "ord")
    deleted = program.run("queue", "delete", "orders")

    assert (same.returncode, other.returncode) == (0, 1)
    assert other.stderr.startswith("localyun: QueueAlreadyExist:")
    told = data(changed)
    assert (told["DelaySeconds"], told["VisibilityTimeout"], told["LoggingEnabled"]) == (7, 60, True)
    assert ["DelaySeconds", "7"] in [line.split() for line in shown.stdout.splitlines()]
    assert rows(listed) == [["orders", "0", "0", "0"]]
    assert deleted.stdout == "deleted orders\n"
    assert [item["QueueName"] for item in data(program.run("queue", "list", "--json"))] == ["mails"]


def test_attributes_hold_what_only_the_management_api_shows(program):
    """Type and dead-letter queue, as a file has set them."""
    dead = '{Enabled: true, DeadLetterTargetQueue: dead, MaxReceiveCount: "2"}'
    file = f"queues:\n  dead: {{}}\n  ff: {{QueueType: fifo}}\n  orders: {{DlqPolicy: {dead}}}\n"
    (program.folder / "localyun.yaml").write_text(file)
    program.start()

    told = data(program.run("queue", "attributes", "orders", "--json"))

    assert told["DlqPolicy"] == {"Enabled": True, "DeadLetterTargetQueue": "dead", "MaxReceiveCount": "2"}
    assert data(program.run("queue", "attributes", "ff", "--json"))["QueueType"] == "fifo"


def test_resources_of_another_region_are_reached_by_a_variable(program, queue):
    """What a client made in another region is not lost: commands say where to look, and can look there."""
    there = {"LOCALYUN_REGION": "cn-shanghai"}
    made = program.run("queue", "create", "mails", **there)
    here, elsewhere = program.run("queue", "list"), program.run("queue", "list", **there)
    no_topics, as_json = program.run("topic", "list"), program.run("queue", "list", "--json")
    missing = program.run("queue", "receive", "mails")
    typo = program.run("queue", "receive", "letters", **there)

    assert made.stdout == "created mails\n"
    assert rows(here) == [["orders", "0", "0", "0"]]
    assert rows(elsewhere) == [["mails", "0", "0", "0"]]
    assert "to list cn-shanghai (1): LOCALYUN_REGION=cn-shanghai localyun" in " ".join(here.stderr.split())
    assert "to list cn-hangzhou (1)" in " ".join(elsewhere.stderr.split())
    assert "to list" not in no_topics.stderr
    assert as_json.stderr == ""
    assert data(program.run("status", "--json"))["regions"] == ["cn-hangzhou", "cn-shanghai"]
    assert "only cn-hangzhou was searched; to search cn-shanghai: LOCALYUN_REGION=cn-shanghai" in missing.stderr
    assert "only cn-shanghai was searched; to search cn-hangzhou: LOCALYUN_REGION=cn-hangzhou" in typo.stderr
    for words in (("account", "remove", "9"), ("sink", "remove", "9")):  # these are in no region
        assert program.run(*words).stderr.count("localyun:") == 1


def test_resources_of_an_earlier_account_are_named(program, queue):
    """What was made before `account_id` was set is not lost: lists and missing resources name a command for its key."""
    former = data(program.run("status", "--json"))["account"]
    program.run("stop")
    (program.folder / "localyun.yaml").write_text('account_id: "77"\n')
    program.start()

    listed = " ".join(program.run("queue", "list").stderr.split())
    missing = " ".join(program.run("queue", "receive", "orders").stderr.split())
    added = data(program.run("account", "add", former, "--json"))

    command = f"localyun account add {former} prints a key"
    assert f"only account 77 is listed; there are more in {former} (1); {command}" in listed
    assert f"only account 77 was searched; there are resources in {former}; {command}" in missing
    keys = {"LOCALYUN_ACCESS_KEY_ID": added["accessKeyId"], "LOCALYUN_ACCESS_KEY_SECRET": added["accessKeySecret"]}
    assert rows(program.run("queue", "list", LOCALYUN_ACCOUNT_ID=former, **keys)) == [["orders", "0", "0", "0"]]


def test_keys_of_an_added_account_are_its_own(program, queue):
    """Lists, `env` and `exec` go by the account of the keys in the shell, not by the emulator's own."""
    own = data(program.run("status", "--json"))["account"]
    added = data(program.run("account", "add", "77", "--json"))
    keys = {"LOCALYUN_ACCESS_KEY_ID": added["accessKeyId"], "LOCALYUN_ACCESS_KEY_SECRET": added["accessKeySecret"]}
    program.run("queue", "create", "mails", **keys)

    listed = program.run("queue", "list", **keys)
    env = data(program.run("env", "--json", **keys))
    told = program.run("exec", "--", sys.executable, "-c", "import os; print(os.environ['ACCOUNT_ID'])", **keys)

    assert rows(listed) == [["mails", "0", "0", "0"]]
    advice = "LOCALYUN_ACCESS_KEY_ID in this shell chooses the account"
    assert f"only account 77 is listed; there are more in {own} (1); {advice}" in " ".join(listed.stderr.split())
    assert (env["LOCALYUN_ACCOUNT_ID"], env["ALIBABA_CLOUD_ACCOUNT_ID"]) == ("77", "77")
    assert told.stdout == "77\n"


def test_missing_resource_is_only_missing_where_there_is_one_region(program, queue):
    """No word about regions to those who have one."""
    assert program.run("queue", "receive", "letters").stderr.count("localyun:") == 1


def test_message_is_sent_peeked_received_and_deleted(program, queue):
    """A peek changes nothing, a receive hides, --delete removes."""
    sent = data(program.run("queue", "send", "orders", "<first>", "--priority", "1", "--json"))
    program.run("queue", "send", "orders", "second")
    peeked = data(program.run("queue", "peek", "orders", "-n", "16", "--json"))
    received = data(program.run("queue", "receive", "orders", "--delete", "--json"))
    left = rows(program.run("queue", "list"))
    told = program.run("queue", "receive", "orders", "--delete").stderr

    assert told == f"deleted {peeked[1]['MessageId']}\n"
    assert [message["MessageBody"] for message in peeked] == ["<first>", "second"]
    assert received[0]["MessageId"] == sent["MessageId"]
    assert (received[0]["DequeueCount"], received[0]["Priority"]) == (1, 1)
    assert left == [["orders", "1", "0", "0"]]


def test_receive_for_people_shows_the_fields(program, queue):
    """Instants are dates, the body is decoded when asked for."""
    program.run("queue", "send", "orders", "hello", "--base64")

    lines = program.run("queue", "receive", "orders", "--base64", "--wait", "0").stdout.splitlines()

    shown = dict(line.split(maxsplit=1) for line in lines)
    assert shown["MessageBody"] == "hello"
    assert shown["NextVisibleTime"].endswith("Z")
    assert shown["DequeueCount"] == "1"


def test_official_clients_read_what_base64_sends(program, queue):
    """--base64 sends what the Python and Java SDKs decode."""
    program.run("queue", "send", "orders", "hello", "--base64")

    body = data(program.run("queue", "peek", "orders", "--json"))[0]["MessageBody"]

    assert base64.b64decode(body) == b"hello"


def test_queue_without_a_message_is_told_by_the_exit_code(program, queue):
    """Scripts can loop until there is nothing."""
    plain = program.run("queue", "receive", "orders")
    as_json = program.run("queue", "peek", "orders", "--json")

    assert (plain.returncode, plain.stdout, plain.stderr) == (1, "", "localyun: no message in orders\n")
    assert (as_json.returncode, as_json.stdout) == (1, "[]\n")


def test_messages_that_cannot_be_received_yet_are_counted(program, queue):
    """A worker that crashed has hidden what it received."""
    program.run("queue", "send", "orders", "a")
    program.run("queue", "send", "orders", "b", "--delay-seconds", "600")
    program.run("queue", "receive", "orders")

    plain = program.run("queue", "peek", "orders")

    assert plain.stderr == "localyun: no message in orders is visible: 1 hidden, 1 delayed\n"
    assert plain.returncode == 1


def test_purge_deletes_visible_hidden_and_delayed_messages(program, queue):
    """Nothing is left, and the queue goes on working."""
    for words in (["a"], ["b"], ["c", "--delay-seconds", "600"]):
        program.run("queue", "send", "orders", *words)
    program.run("queue", "receive", "orders")

    done = program.run("queue", "purge", "orders")
    left = rows(program.run("queue", "list"))
    sent = program.run("queue", "send", "orders", "new")

    assert done.stdout == "purged orders: 3 messages\n"
    assert left == [["orders", "0", "0", "0"]]
    assert sent.returncode == 0


def test_queue_that_does_not_exist_is_told_by_its_code(program, queue):
    """Errors of the service keep their names, those of the admin API too."""
    asked = (["queue", "send", "nope", "x"], ["queue", "receive", "nope"], ["queue", "purge", "nope"])
    told = {words[1]: program.run(*words) for words in asked}

    assert {words: done.returncode for words, done in told.items()} == {"send": 1, "receive": 1, "purge": 1}
    others = [words for words, done in told.items() if not done.stderr.startswith("localyun: QueueNotExist: ")]
    assert others == []


def test_name_that_is_no_path_reaches_the_service_as_it_is(program, queue):
    """A slash in a name does not address something else."""
    done = program.run("queue", "create", "a/messages")

    assert done.returncode == 1
    assert "QueueNotExist" not in done.stderr


def test_commands_without_an_emulator_end_with_3(program):
    """The exit code tells that nothing answered."""
    program.start()
    program.run("stop")

    assert program.run("queue", "list").returncode == 3


def test_published_message_reaches_its_subscribers(program, queue):
    """Tags are compared; queue:NAME is short for the queue's endpoint."""
    program.run("topic", "create", "news", "--maximum-message-size", "2048")
    program.run("topic", "subscribe", "news", "all", "queue:orders", "--content-format", "SIMPLIFIED")
    program.run("topic", "subscribe", "news", "some", "mail:directmail:a@example.com", "--tag", "urgent")
    program.run("topic", "publish", "news", "plain")
    published = data(program.run("topic", "publish", "news", "hurry", "--tag", "urgent", "--json"))
    bodies = [item["MessageBody"] for item in data(program.run("queue", "peek", "orders", "-n", "9", "--json"))]
    ended = data(program.run("topic", "deliveries", "news", "some", "--json"))
    outbox = data(program.run("topic", "outbox", "--json"))

    assert bodies == ["plain", "hurry"]
    assert [(item["MessageId"], item["State"]) for item in ended] == [(published["MessageId"], "delivered")]
    assert [(item["Kind"], item["Address"], item["MessageBody"]) for item in outbox] == [
        ("mail", "a@example.com", "hurry")
    ]


def test_invalid_endpoint_is_refused_with_what_there_is(program, queue):
    """The service says only that it is invalid."""
    program.run("topic", "create", "news")

    refused = program.run("topic", "subscribe", "news", "s", "orders")

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "EndpointInvalid: The endpoint you provided is invalid. An endpoint is queue:NAME, " in refused.stderr


def test_failed_delivery_is_shown_with_its_reason(program, queue):
    """A push that nobody takes stays pending and says why."""
    program.run("topic", "create", "news")
    program.run("topic", "subscribe", "news", "gone", "http://127.0.0.1:9/")
    program.run("topic", "publish", "news", "x")

    shown = program.run("topic", "deliveries", "news", "gone", "-n", "1")

    assert "pending" in shown.stdout
    assert "published" in shown.stdout.splitlines()[0]


def test_topic_and_subscription_are_listed_and_deleted(program, queue):
    """The life of a topic."""
    program.run("topic", "create", "news")
    program.run("topic", "subscribe", "news", "s", "queue:orders", "--strategy", "EXPONENTIAL_DECAY_RETRY")
    topics = data(program.run("topic", "list", "--json"))
    subscriptions = program.run("topic", "subscriptions", "news")
    program.run("topic", "unsubscribe", "news", "s")
    left = data(program.run("topic", "subscriptions", "news", "--json"))
    deleted = program.run("topic", "delete", "news")

    assert [topic["TopicName"] for topic in topics] == ["news"]
    assert rows(subscriptions)[0][0] == "s"
    assert rows(subscriptions)[0][-1] == "EXPONENTIAL_DECAY_RETRY"
    assert left == []
    assert deleted.returncode == 0
    assert data(program.run("topic", "list", "--json")) == []


def test_number_that_is_none_is_refused(program, queue):
    """Both by the grammar and by the admin API."""
    for words in (["topic", "outbox", "-n", "-1"], ["topic", "deliveries", "news", "s", "-n", "x"]):
        assert program.run(*words).returncode in {1, 2}, words


def test_declared_queues_and_topics_exist_after_a_start_and_a_reset(program):
    """The file is applied at every start; a reset brings back what it declares."""
    file = program.folder / "localyun.yaml"
    file.write_text(
        "queues: {orders: {VisibilityTimeout: 45}}\ntopics: {news: {subscriptions: {s: {Endpoint: 'queue:orders'}}}}\n"
    )
    program.run("start", "-d")
    program.run("queue", "create", "made-by-hand")
    first = data(program.run("queue", "attributes", "orders", "--json"))
    program.run("reset", "--yes")
    after_reset = [item["QueueName"] for item in data(program.run("queue", "list", "--json"))]
    program.run("stop")
    file.write_text("queues: {orders: {VisibilityTimeout: 46}}\n")
    program.run("start", "-d")
    second = data(program.run("queue", "attributes", "orders", "--json"))

    assert first["VisibilityTimeout"] == 45
    assert after_reset == ["orders"]
    assert second["VisibilityTimeout"] == 46
    assert [item["SubscriptionName"] for item in data(program.run("topic", "subscriptions", "news", "--json"))] == ["s"]


@pytest.mark.parametrize("words", [["start"], ["start", "-d"]], ids=["foreground", "background"])
def test_mistake_in_a_declaration_is_wrong_usage(program, words):
    """A start tells file and line of each, and nothing runs."""
    (program.folder / "localyun.yaml").write_text("queues:\n  orders:\n    VisibilityTimeout: 0\nhooks: {done: [ls]}\n")

    done = program.run(*words)

    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first.startswith("localyun: localyun.yaml:3:5: queues.orders.VisibilityTimeout: ")
    assert second.startswith("localyun.yaml:4:9: hooks.done: ")
    assert program.run("status").returncode == 3


def test_deliveries_in_full_show_what_was_sent_and_answered(program, queue):
    """Body, tag, URL, and the headers of the push; a receiver that does not answer has no answer."""
    program.run("topic", "create", "news")
    program.run("topic", "subscribe", "news", "gone", "http://127.0.0.1:9/here", "--tag", "urgent")
    program.run("clock", "freeze")  # or a slow machine sees the next attempt too
    program.run("topic", "publish", "news", "the body", "--tag", "urgent")

    program.run("settle")
    (delivery,) = data(program.run("topic", "deliveries", "news", "gone", "--json"))
    shown = program.run("topic", "deliveries", "news", "gone", "--full").stdout

    assert (delivery["MessageBody"], delivery["MessageTag"]) == ("the body", "urgent")
    assert delivery["Endpoint"] == "http://127.0.0.1:9/here"
    assert delivery["Request"]["Headers"]["x-mns-version"] == "2015-06-06"
    assert "Answer" not in delivery
    assert "the body" in shown
    assert "Authorization" in shown


def test_reset_can_be_limited_to_one_resource_which_stays(program, queue):
    """A queue loses its messages, a topic its deliveries, a flow its executions."""
    definition = program.folder / "flow.yml"
    definition.write_text("version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 100}\n")
    program.run("queue", "send", "orders", "x")
    program.run("topic", "create", "news")
    program.run("topic", "subscribe", "news", "gone", "http://127.0.0.1:9/")
    program.run("topic", "publish", "news", "x")
    program.run("flow", "create", "waiting", str(definition))
    program.run("flow", "start", "waiting")

    done = [
        data(program.run("reset", *words, "--json"))
        for words in (("--queue", "orders"), ("--topic", "news"), ("--flow", "waiting"))
    ]

    assert done == [{"queue": "orders", "deleted": 1}, {"topic": "news"}, {"flow": "waiting", "deleted": 1}]
    assert data(program.run("queue", "list", "--json"))[0]["ActiveMessages"] == 0
    assert data(program.run("topic", "deliveries", "news", "gone", "--json")) == []
    assert data(program.run("flow", "list", "waiting", "--json")) == []
    assert "QueueNotExist" in program.run("reset", "--queue", "none").stderr
    assert program.run("reset", "--queue", "orders", "--flow", "waiting").returncode == 2


def test_reset_of_a_service_leaves_the_others(program, queue):
    """Queues go, flows stay."""
    definition = program.folder / "flow.yml"
    definition.write_text("version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n")
    program.run("flow", "create", "kept", str(definition))

    program.run("reset", "--service", "mns")

    assert data(program.run("queue", "list", "--json")) == []
    assert [flow["Name"] for flow in data(program.run("flow", "list", "--json"))] == ["kept"]
