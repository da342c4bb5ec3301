"""What a start promises holds for the first call, however slow is what is made beside it."""

import asyncio
import logging
import threading

import pytest

from emulator import config
from emulator.composition import Composition
from emulator.deploy.seeds import Seeds
from emulator.gateway import hosts
from emulator.gateway.hosts import HostPolicy
from emulator.kernel.tracing import begin
from emulator.services.fc.asynchronous.queue import AsyncQueue
from emulator.services.fc.triggers.model import Domain
from emulator.services.fc.triggers.store import Domains
from emulator.services.mns.topics.model import Outcome, SubscriptionSettings
from emulator.services.mns.topics.push import Pusher
from tests.operations.calling import running
from tests.waiting import until


async def test_commands_that_run_after_a_start_find_the_certificates(tmp_path, monkeypatch):
    """However long these take; the start does not wait for them."""
    usual, started = hosts.write_bundle, threading.Event()
    found = []

    def late(*paths):
        assert started.wait(30)
        usual(*paths)

    async def run(seeds, command, environment):
        found.append((tmp_path / "state" / "ca" / "bundle.pem").is_file())
        return 0, ""

    monkeypatch.setattr(hosts, "write_bundle", late)
    monkeypatch.setattr(Seeds, "_run", run)
    (tmp_path / "localyun.yaml").write_text("hooks: {ready: [make]}\n")
    async with running(tmp_path, resources=config.load({}, {}, tmp_path).config.resources):
        started.set()
        await until(lambda: found)

    assert found == [True]


async def test_the_proxy_is_told_when_the_certificates_are_there(tmp_path, monkeypatch):
    """Whoever asks, `exec` for example, reads the authority next: it may just be renewed for a custom domain."""
    writing, end = asyncio.Event(), threading.Event()
    async with running(tmp_path) as site:
        loop, usual = asyncio.get_running_loop(), hosts.write_bundle

        def slow(*paths):
            loop.call_soon_threadsafe(writing.set)
            assert end.wait(30)
            usual(*paths)

        monkeypatch.setattr(hosts, "write_bundle", slow)
        site.emulator._bundle.renew()
        await writing.wait()
        asked = asyncio.ensure_future(site.emulator.proxy())
        await asyncio.sleep(0)
        was_told = asked.done()
        end.set()

        assert not was_told
        assert (await asked).keys() == {"served", "forwarding"}


DOMAIN = "www.shop.example"


async def furnish(emulator):
    """Make a custom domain and a topic that pushes to it."""
    services, now = emulator.services, emulator._clock.now()
    about = {"created_at": now, "modified_at": now, "id": "1", "api": "2023-03-30"}
    config = {"domainName": DOMAIN, "protocol": "HTTP", "routeConfig": {"routes": []}}
    services._functions.sources.domains.put(Domain(name=DOMAIN, tenant=emulator.tenant, config=config, **about))
    services._messages.topics.create(emulator.tenant, "orders", {})
    services._messages.subscriptions.create(
        emulator.tenant, "orders", "web", SubscriptionSettings(endpoint=f"http://{DOMAIN}/")
    )
    begin("REQUEST")
    services._messages.publish(emulator.tenant, "orders", "one")
    await emulator._database.committed()


@pytest.mark.parametrize("again", ["start", "restore"])
async def test_what_goes_on_finds_the_custom_domains(tmp_path, monkeypatch, again):
    """They lead here: asked for a moment earlier, one is a name of the internet."""
    events = []
    calls, domains, allow = AsyncQueue.start, Domains.start, HostPolicy.allow

    async def pushed(*_):
        events.append("push")
        await asyncio.Event().wait()

    def called(queue):
        events.append("calls")
        calls(queue)

    async def read(stored):
        for _ in range(20):
            await asyncio.sleep(0)
        await domains(stored)

    def allowed(policy, host, front):
        events.append(host)
        allow(policy, host, front)

    for owner, name, new in (
        (Pusher, "push", pushed),
        (AsyncQueue, "start", called),
        (Domains, "start", read),
        (HostPolicy, "allow", allowed),
    ):
        monkeypatch.setattr(owner, name, new)

    async with running(tmp_path) as site:
        await furnish(site.emulator)
        await until(lambda: "push" in events)
        if again == "restore":
            await site.emulator._lab.checkpoints.save("one")
            events.clear()
            await site.emulator._lab.checkpoints.restore("one")
            await until(lambda: "push" in events)
    if again == "start":
        events.clear()
        async with running(tmp_path):
            await until(lambda: "push" in events)

    assert events == [DOMAIN, "calls", "push"]


async def test_what_a_start_resumes_is_in_the_traces(tmp_path, monkeypatch, caplog):
    """A delivery that ends before the services have started is an effect of its request as any other."""
    caplog.set_level(logging.INFO, "emulator")  # the emulator's own level

    async def unanswered(*_):
        await asyncio.Event().wait()

    async def answered(*_):
        return Outcome(delivered=True, detail="HTTP 204")

    usual = Composition.seed

    async def seeded(composition):
        await until(lambda: not composition._messages.courier.under_way)
        await usual(composition)

    with monkeypatch.context() as first:
        first.setattr(Pusher, "push", unanswered)
        async with running(tmp_path) as site:
            await furnish(site.emulator)
            await until(lambda: site.emulator.services._messages.courier.under_way)
    monkeypatch.setattr(Pusher, "push", answered)
    monkeypatch.setattr(Composition, "seed", seeded)
    async with running(tmp_path) as site:
        kept = [effect.fields for effect in site.emulator._lab.effects.latest(10) if effect.trace == "REQUEST"]

    assert [fields.get("result") for fields in kept] == [None, "delivered"]  # what was published, and where it went


async def test_deployments_are_among_what_is_left_to_do(tmp_path, monkeypatch):
    """Until they have ended the emulator is not ready, whatever it answers by then: at a start, and after a reset."""
    for name in ("one.yml", "two.yml"):
        (tmp_path / name).touch()
    (tmp_path / "localyun.yaml").write_text("deploy: [one.yml, two.yml]\nhooks: {ready: [make]}\n")
    left = []

    async def run(seeds, command, environment):
        left.append(seeds.commands_left)
        return 0, ""

    monkeypatch.setattr(Seeds, "_run", run)
    async with running(tmp_path, resources=config.load({}, {}, tmp_path).config.resources) as site:
        status = site.emulator.services.status
        await until(lambda: len(left) == 3)
        await site.emulator.reset({})
        after = (await status())["hooks"]

    assert (left, after) == ([3, 2, 1, 2, 1], 0)


@pytest.mark.parametrize("scope", [{}, {"service": "fnf"}, {"service": "oss"}], ids=str)
async def test_after_a_reset_the_first_request_finds_what_the_configuration_declares(tmp_path, monkeypatch, scope):
    """One that comes meanwhile waits, also beyond the moment at which the services go on."""
    doors = []
    async with running(tmp_path) as site:
        usual = Composition.seed

        async def seeded(composition):
            doors.append(site.emulator._entrance.loaded.done())
            await usual(composition)

        monkeypatch.setattr(Composition, "seed", seeded)
        await site.emulator.reset(scope)

        assert doors == [False]
        assert site.emulator._entrance.loaded.done()
