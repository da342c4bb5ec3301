"""What people see of a queue beyond its visible messages, and moving them by hand."""

import pytest

from emulator.kernel.errors import ServiceError
from emulator.services.mns import admin
from emulator.services.mns.queues.model import DeadLetterPolicy
from emulator.wire.operation import Routes, operations_of
from tests.unit.mns.conftest import message_xml


@pytest.fixture
def perform(mns):
    """Perform an admin operation."""
    routes = Routes(operations_of(admin))

    def run(route, **arguments):
        found, path = routes.find(*route.split(" "), {})
        call = _call(mns, path)
        defaults = {each.name: each.default for each in found.parameters if each.default is not ...}
        call.arguments = {**defaults, **arguments}
        answer = found.perform(mns.service, call)
        mns.database.commit()
        return answer

    return run


def _call(mns, path):
    mns.ask("GET", "/queues")
    mns.database.commit()
    mns.context.path = path
    mns.context.now = mns.clock.now()
    return mns.context


def states(answer):
    return [(each["MessageBody"], each["State"]) for each in answer["messages"]]


def test_messages_of_all_states_are_listed_with_the_time_they_become_visible(mns, perform):
    """Visible ones first, hidden ones by time; nothing is changed."""
    mns.create(visibility_timeout_s=30)
    mns.send("taken", Priority=1)
    mns.send("free")
    mns.send("later", DelaySeconds=60)
    mns.receive()

    answer = perform("GET /messages", queue="q")

    assert states(answer) == [("free", "active"), ("taken", "inactive"), ("later", "delayed")]
    now = mns.clock.now()
    assert [each.get("NextVisibleTime") for each in answer["messages"]] == [None, now + 30_000, now + 60_000]
    assert mns.counters() == (1, 1, 1)


def test_the_handle_of_a_hidden_message_gives_it_back(mns, perform):
    """What a person sees in flight can be made visible again without its receiver."""
    mns.create()
    mns.send("taken")
    mns.receive()

    (shown,) = perform("GET /messages", queue="q")["messages"]
    mns.service.messages.change_visibility(mns.service.find(mns.tenant, "q"), shown["ReceiptHandle"], 1)
    mns.advance(1)

    assert mns.drain() == ["taken"]


def test_dead_letters_go_back_where_they_come_from(mns, perform):
    """Other messages of the dead-letter queue stay."""
    mns.create("dead")
    mns.create(dead_letter=DeadLetterPolicy(enabled=True, target="dead", max_receives=1), visibility_timeout_s=10)
    mns.send("x")
    mns.receive()
    mns.advance(10)
    mns.send("own", queue="dead")
    assert {each["DeadLetterOf"] for each in perform("GET /messages", queue="dead")["messages"]} == {"q", ""}

    assert perform("POST /move-messages", queue="dead") == {"moved": 1}

    assert mns.drain() == ["x"]
    assert mns.drain("dead") == ["own"]


def test_one_message_is_moved_by_its_id_even_while_it_is_hidden(mns, perform):
    """The counters of both queues follow."""
    mns.create()
    mns.create("other")
    mns.send("a")
    mns.send("b")
    mns.receive()
    taken = next(each for each in perform("GET /messages", queue="q")["messages"] if each["State"] == "inactive")

    perform("POST /move-messages", queue="q", to="other", message=taken["MessageId"])

    assert (mns.counters(), mns.counters("other")) == ((1, 0, 0), (1, 0, 0))


def test_a_message_that_is_not_there_is_not_moved(mns, perform):
    """The answer says so, and nothing changes."""
    mns.create()
    mns.send("a")

    with pytest.raises(ServiceError, match="MessageNotExist"):
        perform("POST /move-messages", queue="q", message="0" * 32)

    assert mns.counters() == (1, 0, 0)


@pytest.mark.parametrize("empty", [1, 40])
def test_the_next_visible_message_is_sought_in_queues_that_have_some(mns, monkeypatch, empty):
    """As many statements however many queues are empty; a queue that has been emptied or deleted has none."""
    for number in range(empty):
        mns.create(name=f"empty{number}")
    for name in ("later", "free", "gone"):
        mns.create(name=name)
        mns.send("hello", queue=name, DelaySeconds=0 if name == "free" else 60)
    mns.call("DELETE", "/queues/gone")
    read, database = [], mns.service.queue_store._database
    real = database.read
    monkeypatch.setattr(database, "read", lambda sql, *given: (read.append(sql), real(sql, *given))[1])

    found = mns.service.next_visible(mns.clock.now())

    assert found == [("later", mns.clock.now() + 60_000)]
    assert len(read) <= 4


def test_times_at_which_messages_become_visible_are_those_of_queues_that_have_some(mns):
    """Of many queues those alone that have hidden or delayed messages, each with its next time."""
    for name in ("empty", "visible", "delayed", "hidden"):
        mns.ask("PUT", f"/queues/{name}")
    mns.ask("POST", "/queues/visible/messages", message_xml())
    for delay_s in (90, 60):
        mns.ask("POST", "/queues/delayed/messages", message_xml(DelaySeconds=delay_s))
    mns.ask("POST", "/queues/hidden/messages", message_xml())
    mns.ask("GET", "/queues/hidden/messages")
    mns.ask("DELETE", "/queues/gone")

    now = mns.clock.now()
    assert sorted(mns.service.next_visible(now)) == [("delayed", now + 60_000), ("hidden", now + 30_000)]
    assert mns.service.queue_store.count(mns.context.tenant) == 4


def test_names_are_found_by_a_part_of_them(mns):
    """Of queues and topics, in whatever case they are written, in order and no more than asked for."""
    for name in ("Orders", "old-orders", "new"):
        mns.create(name=name)
    mns.ask("GET", "/queues")
    tenant = mns.context.tenant
    for name in ("Orders", "old-orders", "new"):
        mns.service.topics.create(tenant, name, {})

    for store in (mns.service.queue_store, mns.service.topic_store):
        assert store.names_with(tenant, "orders", 9) == ["Orders", "old-orders"]
        assert store.names_with(tenant, "orders", 1) == ["Orders"]
        assert store.names_with(tenant, "none", 9) == []


def test_the_latest_messages_are_read_without_the_others(mns):
    """They are taken from the end, not sorted out of all there are."""
    for name in ("q", "p"):
        mns.create(name=name)
        for number in range(3):
            mns.send(f"{name}{number}", queue=name)
    asked = []
    mns.database._connection.set_trace_callback(asked.append)

    rows = mns.service.queue_store.latest(mns.context.tenant, 2**62, 2)

    mns.database._connection.set_trace_callback(None)
    assert [(queue, body) for _, queue, _, body in rows] == [("p", "p2"), ("p", "p1")]
    plan = [row[3] for sql in asked for row in mns.database.read(f"EXPLAIN QUERY PLAN {sql}")]
    assert not [step for step in plan if "TEMP B-TREE" in step], plan
