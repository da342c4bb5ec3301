"""Deliveries: their timetable, restarts, subscribers that hang, and what happens at the end."""

import asyncio
import json
from itertools import pairwise

import pytest

from emulator.services.mns import limits as topic_limits
from emulator.services.mns.queues.message import Property
from emulator.services.mns.queues.model import DeadLetters
from emulator.services.mns.topics import push as push_module
from emulator.services.mns.topics.model import ContentFormat, NotifyStrategy, PublishDraft
from tests.waiting import until


def gaps(pushes):
    return [(after.at - before.at) / 1000 for before, after in pairwise(pushes)]


async def test_a_push_is_made_once_when_it_is_answered_with_success(new_site):
    """Any status from 200 to 299 will do."""
    async with new_site() as site:
        receivers = [await site.receiver(status) for status in (200, 201, 204, 299)]
        site.topic()
        for number, receiver in enumerate(receivers):
            site.subscribe(receiver.url, name=f"s{number}")
        site.publish()
        await site.advance(100_000)

        assert [len(receiver.pushes) for receiver in receivers] == [1, 1, 1, 1]
        assert {report.state for number in range(4) for report in site.reports(f"s{number}")} == {"delivered"}
        assert site.service.topics.view(site.tenant, "t").message_count == 0


@pytest.mark.parametrize("answer", [302, 404, 500, 503, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"junk\r\n"])
async def test_anything_else_is_tried_again(new_site, answer):
    """Redirects are not followed, and an answer that breaks off is none."""
    async with new_site() as site:
        receiver = await site.receiver(answer, 204)
        site.topic()
        site.subscribe(receiver.url)
        site.publish()
        await site.advance(14.9)
        before = len(receiver.pushes)
        await site.advance(0.2)

        assert (before, len(receiver.pushes)) == (1, 2)
        assert [(report.state, report.attempts) for report in site.reports()] == [("delivered", 2)]


async def test_a_redirect_leads_nowhere(new_site):
    """The address of a redirect is never called."""
    async with new_site() as site:
        other = await site.receiver(204)
        answer = f"HTTP/1.1 307 X\r\nLocation: {other.url}/\r\nContent-Length: 0\r\n\r\n".encode()
        receiver = await site.receiver(answer)
        site.topic()
        site.subscribe(receiver.url)
        site.publish()
        await site.advance(100)

        assert len(receiver.pushes) == 4
        assert other.pushes == []


async def test_back_off_gives_up_after_three_retries(new_site):
    """Four attempts, fifteen seconds apart here."""
    async with new_site() as site:
        receiver = await site.receiver(500)
        site.topic()
        site.subscribe(receiver.url)
        site.publish()
        await site.advance(1000)

        assert gaps(receiver.pushes) == [15, 15, 15]
        (report,) = site.reports()
        assert (report.state, report.attempts, report.last_result) == ("dropped", 4, "HTTP 500")
        assert site.service.topics.view(site.tenant, "t").message_count == 0


async def test_decay_follows_its_timetable_to_the_end(new_site):
    """177 attempts with the exact gaps."""
    async with new_site() as site:
        receiver = await site.receiver(500)
        site.topic()
        site.subscribe(receiver.url, strategy=NotifyStrategy.DECAY)
        site.publish()
        await site.advance(90_000)

        assert gaps(receiver.pushes) == list(topic_limits.DECAY_GAPS_S)
        assert [report.state for report in site.reports()] == ["dropped"]


async def test_pending_deliveries_keep_their_instants_over_a_restart(new_site, tmp_path):
    """Stopped in the middle of a schedule, the next attempt comes when it would have come."""

    path = tmp_path / "state.db"
    async with new_site(path) as site:
        receiver = await site.receiver(500)
        site.topic()
        site.subscribe(receiver.url, strategy=NotifyStrategy.DECAY)
        site.publish()
        await site.advance(5)  # attempts at 0, 1 and 3 seconds; the next is due at 7
        clock, first, url = site.clock, len(receiver.pushes), receiver.url
        port = receiver.port
    clock.move_to(clock.now() + 1_000)
    async with new_site(path, clock) as site:
        again = await site.receiver(204)
        await again.close()
        again._server = await asyncio.start_server(again._serve, "127.0.0.1", port)
        await site.settle()
        early = len(again.pushes)
        await site.advance(0.999)
        still = len(again.pushes)
        await site.advance(0.001)

        assert (first, early, still, len(again.pushes)) == (3, 0, 0, 1)
        assert again.pushes[0].body == b"hello"
        assert url.endswith(str(port))
        assert [(report.state, report.attempts) for report in site.reports()] == [("delivered", 4)]


async def test_what_was_under_way_at_a_stop_is_tried_again_at_the_start(new_site, tmp_path):
    """An attempt that was broken off has not happened."""

    path = tmp_path / "state.db"
    async with new_site(path) as site:
        hanging = await site.receiver(None)
        site.topic()
        site.subscribe(hanging.url)
        site.publish()
        async with asyncio.timeout(5):
            await hanging.came.wait()
        port = hanging.port
    async with new_site(path) as site:
        receiver = await site.receiver(204)
        await receiver.close()
        receiver._server = await asyncio.start_server(receiver._serve, "127.0.0.1", port)
        await site.settle()
        async with asyncio.timeout(5):
            while not receiver.pushes:
                await site.advance(20)

        assert receiver.pushes[0].body == b"hello"


async def test_a_subscriber_that_hangs_delays_nobody(new_site):
    """The live one gets everything while the other holds all the connections it is allowed."""
    async with new_site() as site:
        hanging, live = await site.receiver(None), await site.receiver(204)
        site.topic()
        site.subscribe(hanging.url, name="hanging")
        site.subscribe(live.url, name="live")
        for number in range(40):
            site.publish(f"m{number}")
        await until(lambda: len(live.pushes) >= 40)

        assert {push.body.decode() for push in live.pushes} == {f"m{number}" for number in range(40)}
        assert len(hanging.pushes) == topic_limits.PUSHES_PER_SUBSCRIPTION
        assert len(site.reports("hanging")) == 40


async def test_pushes_that_wait_for_room_go_on_after_the_clock_was_set_back(new_site):
    """They were due and stay so; otherwise they would rest until the old time has come again."""
    async with new_site() as site:
        hanging = await site.receiver(None)
        site.topic()
        site.subscribe(hanging.url)
        for number in range(topic_limits.PUSHES_PER_SUBSCRIPTION + 5):
            site.publish(f"m{number}")
        site.database.commit()
        before = site.clock.now()
        site.clock._now -= 3 * 3_600_000
        for notice in site.timers._step_listeners:
            notice(before)

        due = [at for (at,) in site.database.read("SELECT due_at FROM mns_deliveries")]

        assert len(due) == topic_limits.PUSHES_PER_SUBSCRIPTION + 5
        assert set(due) == {site.clock.now()}


async def test_every_subscriber_may_always_have_one_push(new_site, monkeypatch):
    """Also when others have used up what all share."""
    monkeypatch.setattr("emulator.services.mns.topics.deliveries.PUSHES", 4)

    async with new_site() as site:
        hanging, live = await site.receiver(None), await site.receiver(204)
        site.topic()
        site.subscribe(hanging.url, name="hanging")
        site.subscribe(live.url, name="live")
        for number in range(10):
            site.publish(f"m{number}")
        await until(lambda: len(live.pushes) >= 10)

        assert len(hanging.pushes) <= 4
        assert len(live.pushes) == 10


async def test_a_subscriber_that_does_not_answer_in_time_has_failed(new_site, monkeypatch):
    """The push is broken off and tried again later."""
    monkeypatch.setattr(push_module, "PUSH_TIMEOUT_S", 0.05)

    async with new_site() as site:
        receiver = await site.receiver(None, 204)
        site.topic()
        site.subscribe(receiver.url)
        site.publish()
        await site.settle()
        (pending,) = site.reports()
        monkeypatch.undo()  # the next attempt has all the time that it needs
        await site.advance(20)
        (ended,) = site.reports()

        assert (pending.state, pending.attempts) == ("pending", 1)
        assert "not answered within" in pending.last_result
        assert pending.next_at == site.clock.now() - 5_000
        assert (ended.state, ended.attempts) == ("delivered", 2)


async def test_other_machines_are_not_called(new_site):
    """Without permission nothing leaves this machine, and the report says why."""
    async with new_site() as site:
        site.topic()
        site.subscribe("http://192.0.2.1/hook")
        site.publish()
        await site.settle()

        assert "not allowed" in site.reports()[0].last_result


async def test_names_of_the_cloud_lead_back_here(new_site):
    """A push to a function's address goes to this emulator, under that name and over plain HTTP."""
    found = {}

    async with new_site(home=found.get) as site:
        receiver = await site.receiver(204)
        found["here.fcapp.run"] = ("127.0.0.1", receiver.port)
        site.topic()
        site.subscribe("https://here.fcapp.run/hook?a=b")
        site.publish()
        await site.settle()

        (push,) = receiver.pushes
        assert (push.target, push.headers["Host"]) == ("/hook?a=b", "here.fcapp.run")


async def test_a_subscriber_that_leaves_gets_nothing_more(new_site):
    """What is on its way is dropped, also what is under way, and the message with it."""
    async with new_site() as site:
        hanging, failing = await site.receiver(None), await site.receiver(500)
        site.topic()
        site.subscribe(hanging.url, name="hanging")
        site.subscribe(failing.url, name="failing")
        site.publish()
        async with asyncio.timeout(5):
            await asyncio.gather(hanging.came.wait(), failing.came.wait())
        count = site.service.topics.view(site.tenant, "t").message_count
        site.service.subscriptions.delete(site.tenant, "t", "hanging")
        site.service.subscriptions.delete(site.tenant, "t", "failing")
        await site.advance(100)

        assert count == 1
        assert len(failing.pushes) == 1
        assert site.service.topics.view(site.tenant, "t").message_count == 0
        assert len(site.timers) == 0


async def test_a_large_backlog_of_a_subscriber_that_left_goes_bit_by_bit(new_site, monkeypatch):
    """Other requests never wait long behind it."""
    monkeypatch.setattr("emulator.services.mns.topics.catalog.PURGE_ROWS", 10)

    async with new_site() as site:
        site.topic()
        site.subscribe("http://127.0.0.1:1/")
        for number in range(35):
            site.publish(f"m{number}")
        await site.settle()
        site.service.topics.delete(site.tenant, "t")
        left = site.service.topic_store.publication_count(1)
        await site.advance(1)

        assert left == 25
        assert site.service.topic_store.publication_count(1) == 0
        assert site.service.topic_store.deleted_subscriptions() == []


@pytest.mark.parametrize("subscriptions", [1, 30])
async def test_a_topic_goes_with_as_many_statements_however_many_subscribe(new_site, monkeypatch, subscriptions):
    """Those without deliveries leave nothing behind that would have to be removed one by one."""
    async with new_site() as site:
        site.topic()
        for number in range(subscriptions):
            site.subscribe("http://127.0.0.1:1/", name=f"sub{number}")
        database, written = site.service.topic_store._database, []
        write = database.write
        monkeypatch.setattr(database, "write", lambda sql, *given: (written.append(sql), write(sql, *given))[1])

        site.service.topics.delete(site.tenant, "t")

        assert len(written) == 2
        assert site.service.topic_store.deleted_subscriptions() == []


async def test_what_a_stop_left_of_a_deleted_subscription_goes_at_the_next_start(new_site, tmp_path, monkeypatch):
    """Deleting survives a crash."""
    monkeypatch.setattr("emulator.services.mns.topics.catalog.PURGE_ROWS", 10)

    async with new_site(tmp_path / "state.db") as site:
        site.topic()
        site.subscribe("http://127.0.0.1:1/")
        for number in range(15):
            site.publish(f"m{number}")
        await site.settle()
        site.service.topics.delete(site.tenant, "t")
    async with new_site(tmp_path / "state.db") as site:
        left = site.service.topic_store.publication_count(1)
        await site.advance(1)

        assert left == 5
        assert site.service.topic_store.publication_count(1) == 0


async def test_the_last_failure_sends_the_message_to_the_dead_letter_queue(new_site):
    """With where it comes from in its system properties."""
    async with new_site() as site:
        receiver = await site.receiver(500)
        site.topic()
        site.queue("dead")
        policy = DeadLetters(enabled=True, target="dead")
        site.subscribe(receiver.url, dead_letters=policy)
        receipt = site.publish()
        await site.advance(100)

        live = site.queues.find(site.tenant, "dead")
        (message,) = site.queues.messages.receive(live, 16, 0, list)
        properties = {name: value for name, value, _ in json.loads(message.system_properties)}
        assert message.body == "hello"
        assert properties == {
            "DLQMessageType": "SUBSCRIPTION",
            "DLQSourceArn": "acs:mns:cn-hangzhou:1234567890123456:/topics/t/subscriptions/s",
            "DLQOriginMessageId": receipt.message_id,
        }
        assert site.reports()[0].state == "dead-lettered"


async def test_a_dead_letter_queue_that_is_missing_loses_the_message(new_site):
    """The report says so."""
    async with new_site() as site:
        site.topic()
        site.subscribe("http://127.0.0.1:1/", dead_letters=DeadLetters(enabled=True, target="nobody"))
        site.publish()
        await site.advance(100)

        (report,) = site.reports()
        assert report.state == "dropped"
        assert "QueueNotExist" in report.last_result


async def test_a_queue_has_the_message_before_the_publisher_has_its_answer(new_site):
    """In the same transaction."""
    async with new_site() as site:
        site.topic()
        site.queue()
        site.to_queue()
        site.publish()

        assert site.bodies() == ["hello"]
        assert site.reports()[0].state == "delivered"


async def test_a_queue_that_is_missing_gets_the_message_once_it_is_there(new_site):
    """A retry finds it."""
    async with new_site() as site:
        site.topic()
        site.to_queue()
        site.publish()
        (pending,) = site.reports()
        await site.advance(1)
        site.queue()
        await site.advance(20)

        assert (pending.attempts, pending.last_result.partition(":")[0]) == (1, "QueueNotExist")
        assert site.bodies() == ["hello"]


async def test_a_notification_too_large_for_its_queue_fails(new_site):
    """The envelope counts."""
    async with new_site() as site:
        site.topic(maximum_message_size=1024)
        site.queue(maximum_message_size=1024)
        site.to_queue(content_format=ContentFormat.XML)
        site.publish("x" * 1024)
        await site.advance(100)

        assert site.bodies() == []
        assert site.reports()[0].state == "dropped"


async def test_a_function_gets_the_event_and_refusals_are_tried_again(new_site):
    """The key is the same for every attempt."""
    async with new_site() as site:
        site.functions.refusals = 1
        site.topic()
        site.subscribe("acs:fc:cn-x:1:services/s/functions/f", content_format=ContentFormat.STREAM)
        receipt = site.publish()
        await site.settle()
        (pending,) = site.reports()
        await site.advance(20)

        assert "FunctionNotFound" in pending.last_result
        assert site.functions.events == [
            ("acs:fc:cn-x:1:services/s/functions/f", b"hello", f"{receipt.message_id}/1"),
        ]


async def test_without_function_compute_such_a_delivery_fails(new_site):
    """With a reason that says so."""
    async with new_site(functions=False) as site:
        site.topic()
        site.subscribe("acs:fc:cn-x:1:functions/f")
        site.publish()
        await site.settle()

        assert "not available" in site.reports()[0].last_result


async def test_a_lost_transaction_is_looked_at_again(new_site):
    """The result of an attempt that could not be stored did not happen: the push is made once more."""
    async with new_site() as site:
        receiver = await site.receiver(204)
        site.topic()
        site.subscribe(receiver.url)
        site.publish()
        store, settle = site.service.topic_store, type(site.service.topic_store).settle
        broken = [True]

        def settle_once_broken(delivery_id, publication_id):
            if broken.pop() if broken else False:
                raise OSError("disk full")
            return settle(store, delivery_id, publication_id)

        store.settle = settle_once_broken
        await site.settle()
        first = len(receiver.pushes)
        await site.advance(4.9)
        resting = len(receiver.pushes)
        await site.advance(0.2)

        assert (first, resting, len(receiver.pushes)) == (1, 1, 2)
        assert [report.state for report in site.reports()] == ["delivered"]


def break_commit(site):
    """Let the commit of this tick fail: a reference to a row that is not there is found out at its end."""
    site.database.write("INSERT INTO child VALUES (99)")


def can_break(site):
    site.database.write("CREATE TABLE parent (n INTEGER PRIMARY KEY)")
    site.database.write("CREATE TABLE child (n INTEGER REFERENCES parent(n) DEFERRABLE INITIALLY DEFERRED)")


async def test_a_publish_whose_commit_fails_is_not_pushed(new_site):
    """Effects come after the commit."""
    async with new_site() as site:
        receiver = await site.receiver(204)
        can_break(site)
        site.topic()
        site.subscribe(receiver.url)
        await site.settle()
        site.publish("lost")
        break_commit(site)
        await site.settle()
        site.publish("kept")
        await site.advance(20)

        assert [push.body for push in receiver.pushes] == [b"kept"]


async def test_a_result_whose_commit_fails_did_not_happen(new_site):
    """The push is made again a little later."""
    async with new_site() as site:
        receiver = await site.receiver(204)
        can_break(site)
        site.topic()
        site.subscribe(receiver.url)
        await site.settle()
        site.publish()
        store, settle = site.service.topic_store, site.service.topic_store.settle
        broken = [True]

        def settle_once_lost(delivery_id, publication_id):
            gone = settle(delivery_id, publication_id)
            if broken and broken.pop():
                break_commit(site)
            return gone

        store.settle = settle_once_lost
        await site.settle()
        first, pending = len(receiver.pushes), site.reports()[0].state
        await site.advance(5)

        assert (first, pending, len(receiver.pushes)) == (1, "pending", 2)
        assert site.reports()[0].state == "delivered"
        assert site.service.topics.view(site.tenant, "t").message_count == 0


async def test_those_who_wait_for_a_connection_come_first(new_site, monkeypatch):
    """A subscriber with a long backlog does not keep what all share to itself."""
    monkeypatch.setattr("emulator.services.mns.topics.deliveries.PUSHES", 2)
    monkeypatch.setattr(push_module, "PUSH_TIMEOUT_S", 0.2)

    async with new_site() as site:
        hanging = [await site.receiver(None) for _ in range(3)]
        site.topic()
        for number, receiver in enumerate(hanging):
            site.subscribe(receiver.url, name=f"s{number}")
        for number in range(4):
            site.publish(f"m{number}")
        await site.settle()

        assert [len(receiver.pushes) for receiver in hanging] == [4, 4, 4]
        assert {report.attempts for number in range(3) for report in site.reports(f"s{number}")} == {1}


async def test_reset_forgets_everything(new_site):
    """Topics, deliveries and the outbox."""
    async with new_site() as site:
        site.topic()
        site.subscribe("http://127.0.0.1:1/")
        site.subscribe("mail:directmail:a@example.com", name="mail")
        site.publish()
        await site.settle()
        site.service.reset()
        await site.advance(100)
        site.topic()

        assert site.service.subscriptions.all(site.tenant, "t") == []
        assert site.service.topic_store.outbox(site.tenant, 100) == []
        assert site.service.topic_store.subscriptions_with_deliveries() == []


async def test_message_in_a_queue_keeps_both_kinds_of_properties(new_site):
    """What the publisher said about tracing is there for the reader of the queue."""
    async with new_site() as site:
        site.topic()
        site.queue()
        site.to_queue()
        system = (Property("traceparent", "00-1-2-01", "STRING"), Property("baggage", "b", "STRING"))
        user = (Property("a", "1", "NUMBER"),)
        draft = PublishDraft(body="hello", user_properties=user, system_properties=system)
        site.service.publishing.publish(site.tenant, "t", draft)
        await site.advance(1)

        (message,) = site.queues.messages.receive(site.queues.find(site.tenant, "q"), 16, 0, list)

        assert [name for name, _, _ in json.loads(message.system_properties)] == ["traceparent", "baggage"]
        assert [name for name, _, _ in json.loads(message.user_properties)] == ["a"]


async def test_a_waiting_delivery_is_made_at_once_when_asked_for(new_site):
    """The attempts so far are kept with what was sent and answered."""
    async with new_site() as site:
        receiver = await site.receiver(500, 204)
        site.topic()
        site.subscribe(receiver.url)
        receipt = site.publish("hello")
        await site.settle()
        assert [len(receiver.pushes), site.reports()[0].state] == [1, "pending"]

        assert site.service.redeliver(site.tenant, "t", "s", receipt.message_id)
        await site.settle()

        (report,) = site.reports()
        assert (report.state, report.attempts) == ("delivered", 2)
        assert [(each.number, each.delivered, each.push.status, each.push.body) for each in report.tries] == [
            (1, False, 500, "hello"),
            (2, True, 204, "hello"),
        ]


async def test_an_ended_delivery_is_made_once_more(new_site):
    """Also to a queue; a message nobody knows is refused."""
    async with new_site() as site:
        site.queue()
        site.topic()
        site.to_queue(content_format=ContentFormat.SIMPLIFIED)
        receipt = site.publish("hello")
        await site.settle()

        assert site.service.redeliver(site.tenant, "t", "s", receipt.message_id)
        await site.settle()

        assert site.bodies() == ["hello", "hello"]
        assert not site.service.redeliver(site.tenant, "t", "s", "0" * 32)
        assert site.service.topics.view(site.tenant, "t").message_count == 0


async def test_a_topic_goes_without_reading_who_subscribes(new_site, monkeypatch):
    """Nor is that read to tell its attributes: ten thousand subscriptions take a fifth of a second."""
    async with new_site() as site:
        site.topic()
        site.subscribe("http://127.0.0.1:1/")
        site.service._topic_registry.forget()
        monkeypatch.setattr(site.service.topic_store, "subscriptions", pytest.fail)

        seen = site.service.topics.view(site.tenant, "t")
        site.service.topics.delete(site.tenant, "t")

        assert seen.message_count == 0
        assert site.service.topic_store.tenants() == {}
