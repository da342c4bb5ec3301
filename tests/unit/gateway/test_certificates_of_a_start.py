"""Certificates are made once at the start, and tried again where the machine was too busy."""

import asyncio
import threading

import pytest

from emulator.gateway import hosts
from emulator.http.certificates import MintingFailed


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


@pytest.mark.parametrize(("failures", "is_written", "warnings"), [(0, True, 0), (2, True, 2), (3, False, 3)])
async def test_a_failed_try_is_followed_by_another(monkeypatch, tmp_path, caplog, failures, is_written, warnings):
    """Three are made; each that fails is a line of the log."""
    monkeypatch.setattr(hosts, "CERTIFICATE_PAUSES_S", (0, 0, 0))

    certificate = tmp_path / "ca.pem"
    certificate.write_bytes(b"certificate")

    await hosts.Bundle(Authority(failures, certificate), tmp_path / "bundle.pem").prepare()

    assert (tmp_path / "bundle.pem").exists() is is_written
    assert [record.getMessage() for record in caplog.records].count(
        "no certificates, so https will not work: took too long"
    ) == warnings


@pytest.mark.parametrize("failures", [0, 1])
async def test_the_first_try_is_waited_for(tmp_path, failures):
    """Whatever came of it: where certificates cannot be made, functions that use none run all the same."""
    certificate = tmp_path / "ca.pem"
    certificate.write_bytes(b"certificate")
    bundle = hosts.Bundle(Authority(failures, certificate), tmp_path / "bundle.pem")
    waiting = asyncio.ensure_future(bundle.settled())
    await asyncio.sleep(0)
    assert not waiting.done()

    trying = asyncio.ensure_future(bundle.prepare())
    await waiting

    assert (tmp_path / "bundle.pem").exists() is (failures == 0)
    trying.cancel()  # after a failure, the pause before the next try
    await asyncio.gather(trying, return_exceptions=True)


async def test_the_file_is_written_by_one_at_a_time(monkeypatch, tmp_path):
    """A custom domain that comes while it is written has it written again."""
    loop = asyncio.get_running_loop()
    written, end = asyncio.Event(), threading.Event()

    def write(*_):
        loop.call_soon_threadsafe(written.set)
        assert end.wait(10)

    monkeypatch.setattr(hosts, "write_bundle", write)
    authority = Authority(0, tmp_path / "ca.pem")
    bundle = hosts.Bundle(authority, tmp_path / "bundle.pem")

    first = asyncio.ensure_future(bundle.prepare())
    await written.wait()
    second = asyncio.ensure_future(bundle.prepare())
    for _ in range(5):
        await asyncio.sleep(0)
    asked = authority.asked
    end.set()
    await asyncio.gather(first, second)

    assert (asked, authority.asked) == (1, 2)
