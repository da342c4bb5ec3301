"""Topics against a model: who gets which message, when it is tried again, and that restarts change nothing."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from emulator.kernel.clock import VirtualClock
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.mns.ports import FunctionRefused
from emulator.services.mns.service import SCHEMA, MessageService
from emulator.services.mns.topics.model import ContentFormat, NotifyStrategy, SubscriptionSettings
from emulator.services.mns.topics.push import Pusher, PushPolicy
from emulator.storage.database import Database
from emulator.storage.migration import migrate

WORLD = Tenant(AccountId("1"), Region("cn-x"))
TAGS = [None, "red", "blue"]
NAMES = ["a", "b", "c"]
DECAY_S = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

names = st.sampled_from(NAMES)
tags = st.sampled_from(TAGS)


class Targets:
    """Functions that are there or not; keeps what they were given."""

    def __init__(self):
        self.down = set()
        self.given = []

    async def invoke_async(self, tenant, arn, event, key):
        name = arn.rpartition("/")[2]
        if name in self.down:
            raise FunctionRefused("down")
        self.given.append((name, event.decode()))


class Unsigned:
    def warm(self):
        pass


class Expected:
    """One delivery as the model sees it."""

    def __init__(self, name, body, at, gaps_s):
        self.name = name
        self.body = body
        self.at = at
        self.gaps_s = list(gaps_s)


class TopicMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.clock = VirtualClock()
        self.targets = Targets()
        self.runner = asyncio.Runner()
        self.count = 0
        self.subscribed = {}  # name -> (filter, strategy)
        self.expected = []
        self.given = []
        self.open()
        self.now(lambda: self.service.topics.create(WORLD, "t", {}))

    def open(self):
        self.timers = VirtualTimers(self.clock)
        self.database = Database(Path(self.folder.name) / "state.db")
        migrate(self.database, [SCHEMA])
        ids = CountingIds()  # draws are 0: the back-off's gap is 10 s
        pusher = Pusher(Unsigned(), self.clock, ids, PushPolicy(), certificate_url=str)
        self.service = MessageService(self.database, self.clock, ids, self.timers, pusher=pusher)
        self.service.connect(self.targets)

        async def start():
            self.service.start()
            self.service.deliver()

        self.runner.run(start())
        self.settle()

    def close(self):
        self.runner.run(self.service.aclose())
        self.database.close()

    def settle(self):
        async def settle():
            async with asyncio.timeout(10):
                await asyncio.sleep(0)
                while self.database.dirty or self.service.courier.under_way:
                    await asyncio.sleep(0)

        self.runner.run(settle())

    def now(self, work):
        """Run *work* on the loop."""

        async def run():
            return work()

        self.runner.run(run())
        self.settle()

    @rule(name=names, tag=tags, strategy=st.sampled_from(NotifyStrategy))
    def subscribe(self, name, tag, strategy):
        if name in self.subscribed:
            return
        settings = SubscriptionSettings(
            endpoint=f"acs:fc:cn-x:1:functions/{name}",
            filter_tag=tag,
            strategy=strategy,
            content_format=ContentFormat.STREAM,
        )
        self.now(lambda: self.service.subscriptions.create(WORLD, "t", name, settings))
        self.subscribed[name] = (tag, strategy)

    @rule(name=names)
    def unsubscribe(self, name):
        self.now(lambda: self.service.subscriptions.delete(WORLD, "t", name))
        self.subscribed.pop(name, None)
        self.expected = [item for item in self.expected if item.name != name]

    @rule(tag=tags)
    def publish(self, tag):
        self.count += 1
        body = f"m{self.count}"
        for name, (wanted, strategy) in self.subscribed.items():
            if wanted in {None, tag}:
                gaps_s = [10, 10, 10] if strategy is NotifyStrategy.BACKOFF else DECAY_S
                self.expected.append(Expected(name, body, self.clock.now(), gaps_s))
        self.now(lambda: self.service.publish(WORLD, "t", body, tag=tag))
        self.model(self.clock.now())

    @rule(name=names)
    def breaks(self, name):
        self.targets.down.add(name)

    @rule(name=names)
    def works_again(self, name):
        self.targets.down.discard(name)

    @rule(seconds=st.sampled_from([1, 3, 10, 60]))
    def time_passes(self, seconds):
        end = self.clock.now() + seconds * 1000
        while (instant := self.timers.next_at()) is not None and instant <= end:
            self.now(lambda at=instant: self.timers.advance(max(0, at - self.clock.now())))
        self.clock.move_to(end)
        self.model(end)

    @rule(seconds=st.sampled_from([0, 5, 100]))
    def restart(self, seconds):
        self.close()
        self.clock.move_to(self.clock.now() + seconds * 1000)
        for item in self.expected:
            item.at = max(item.at, self.clock.now())  # what fell into the gap is made up for at the start
        self.open()
        self.model(self.clock.now())

    def model(self, end):
        """Let the expected attempts up to *end* happen."""
        going_on = []
        for item in self.expected:
            while item.at <= end:
                if item.name not in self.targets.down:
                    self.given.append((item.name, item.body))
                    break
                if not item.gaps_s:
                    break
                item.at += item.gaps_s.pop(0) * 1000
            else:
                going_on.append(item)
        self.expected = going_on

    @invariant()
    @precondition(lambda self: hasattr(self, "service"))
    def everybody_got_what_was_due_and_nothing_twice(self):
        assert sorted(self.targets.given) == sorted(self.given)

    @invariant()
    @precondition(lambda self: hasattr(self, "service"))
    def what_is_pending_is_what_the_model_expects(self):
        for name in self.subscribed:
            pending = [
                (report.message_id, report.next_at)
                for report in self.service.list_deliveries(WORLD, "t", name)
                if report.state == "pending"
            ]
            assert sorted(at for _, at in pending) == sorted(item.at for item in self.expected if item.name == name)

    @invariant()
    @precondition(lambda self: hasattr(self, "service"))
    def messages_stay_while_somebody_waits_for_them(self):
        count = self.service.topics.view(WORLD, "t").message_count
        assert count == len({item.body for item in self.expected})

    def teardown(self):
        if hasattr(self, "service"):
            self.close()
            self.runner.close()
            self.folder.cleanup()


TestTopics = TopicMachine.TestCase
