"""Certificates are made at the start and for new names, and tried again where the machine was too busy."""

import asyncio
import threading

import pytest

from emulator.gateway import hosts
from emulator.http.certificates import MintingFailed
from tests.waiting import until


class Authority:
    """Fails as often as it is told to."""

    def __init__(self, failures, certificate):
        self.left = failures
        self.certificate = certificate
        self.asked = 0

    async def ensure_ca(self):
        self.asked += 1
        if self.left:
            self.left -= 1
            raise MintingFailed("took too long")
        return self.certificate


@pytest.fixture
async def a_bundle(tmp_path):
    """Makes bundles that are closed with the test: ``a_bundle(authority)``."""
    made = []

    def make(authority):
        made.append(hosts.Bundle(authority, tmp_path / "bundle.pem"))
        return made[-1]

    yield make
    for bundle in made:
        await bundle.close()


@pytest.fixture
def certificate(tmp_path):
    (tmp_path / "ca.pem").write_bytes(b"certificate")
    return tmp_path / "ca.pem"


@pytest.mark.parametrize(("failures", "is_written", "warnings"), [(0, True, 0), (2, True, 2), (3, False, 3)])
async def test_a_failed_try_is_followed_by_another(
    monkeypatch, a_bundle, certificate, caplog, failures, is_written, warnings
):
    """Three are made; each that fails is a line of the log."""
    monkeypatch.setattr(hosts, "CERTIFICATE_PAUSES_S", (0, 0, 0))
    bundle = a_bundle(Authority(failures, certificate))

    bundle.renew()
    await until(lambda: not len(bundle._tasks))

    assert certificate.with_name("bundle.pem").exists() is is_written
    assert [record.getMessage() for record in caplog.records].count(
        "no certificates, so https will not work: took too long"
    ) == warnings


@pytest.mark.parametrize("failures", [0, 1])
async def test_the_first_try_is_waited_for(a_bundle, certificate, failures):
    """Whatever came of it: where certificates cannot be made, functions that use none run all the same."""
    bundle = a_bundle(Authority(failures, certificate))

    bundle.renew()
    waiting = asyncio.ensure_future(bundle.settled())
    await asyncio.sleep(0)
    assert not waiting.done()
    await waiting

    assert certificate.with_name("bundle.pem").exists() is (failures == 0)


async def test_the_file_is_written_by_one_at_a_time(monkeypatch, a_bundle, certificate):
    """A custom domain that comes while it is written has it written again; whoever needs the file waits for both."""
    loop = asyncio.get_running_loop()
    written, turns = asyncio.Event(), threading.Semaphore(0)

    def write(*_):
        loop.call_soon_threadsafe(written.set)
        assert turns.acquire(timeout=10)

    monkeypatch.setattr(hosts, "write_bundle", write)
    authority = Authority(0, certificate)
    bundle = a_bundle(authority)

    bundle.renew()
    await written.wait()
    bundle.renew()
    waiting = asyncio.ensure_future(bundle.settled())
    for _ in range(5):
        await asyncio.sleep(0)
    asked = authority.asked
    written.clear()
    turns.release()
    await written.wait()
    was_settled = waiting.done()
    turns.release()
    await waiting

    assert (asked, authority.asked) == (1, 2)
    assert not was_settled


async def test_nobody_waits_for_what_has_been_closed(a_bundle, certificate):
    """Also not for a task that never came to its first step, nor for a name that comes afterwards."""
    authority = Authority(0, certificate)
    bundle = a_bundle(authority)

    bundle.renew()
    await bundle.close()
    await bundle.settled()
    bundle.renew()
    await bundle.settled()

    assert authority.asked == 0
