"""What a start promises holds for the first call, however slow is what is made beside it."""

import asyncio
import threading

from emulator.app import Emulator
from emulator.gateway import hosts
from tests.operations.calling import running


async def test_the_certificates_are_there_when_a_start_returns(tmp_path, monkeypatch):
    """Programs are told of the file from then on; here it is written after the services were loaded."""
    usual, loaded = hosts.write_bundle, threading.Event()

    def late(*paths):
        assert loaded.wait(30)
        usual(*paths)

    monkeypatch.setattr(hosts, "write_bundle", late)
    usual_once = Emulator._deploy_declared

    async def deployed(emulator, services):
        await usual_once(emulator, services)
        loaded.set()

    monkeypatch.setattr(Emulator, "_deploy_declared", deployed)
    async with running(tmp_path) as site:
        assert (site.emulator.config.state / "ca" / "bundle.pem").is_file()


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
