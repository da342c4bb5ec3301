"""Certificates are made once after a start, and tried again where the machine was too busy."""

import pytest

from emulator.gateway import hosts
from emulator.http.certificates import MintingFailed


class Authority:
    """Fails as often as it is told to."""

    def __init__(self, failures, certificate):
        self.left = failures
        self.certificate = certificate

    async def ensure_ca(self):
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

    await hosts.prepare_certificates(Authority(failures, certificate), tmp_path / "bundle.pem")

    assert (tmp_path / "bundle.pem").exists() is is_written
    assert [record.getMessage() for record in caplog.records].count(
        "no certificates, so https will not work: took too long"
    ) == warnings
