"""The signer of pushes: a real child process, its key, and what happens when it goes."""

import asyncio
import base64
import contextlib
import os
import signal
import stat

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from emulator.auth.push import PushSigner, SigningFailed
from emulator.kernel.clock import DAY, SystemClock, VirtualClock
from tests.waiting import until


def verify(pem, text, authorization):
    key = x509.load_pem_x509_certificate(pem).public_key()
    key.verify(base64.b64decode(authorization), text.encode(), padding.PKCS1v15(), hashes.SHA1())


def is_signed(pem, text, authorization):
    """Tell whether *authorization* is the signature of *text* by the certificate's key."""
    try:
        verify(pem, text, authorization)
    except InvalidSignature:
        return False
    return True


@pytest.fixture
def a_signer(tmp_path):
    """Opens signers of one folder: ``async with a_signer(clock) as signer``."""

    @contextlib.asynccontextmanager
    async def opened(clock=None):
        signer = PushSigner(tmp_path / "notifications", clock=clock or SystemClock())
        try:
            yield signer
        finally:
            await signer.close()

    return opened


async def test_a_receiver_can_verify_with_the_certificate(a_signer):
    """RSA with SHA-1 as the vendor's samples do it; another text does not pass."""
    async with a_signer() as signer:
        pem, authorization = await signer.certificate(), await signer.authorization("text 你好")

    verify(pem, "text 你好", authorization)
    with pytest.raises(InvalidSignature):
        verify(pem, "other", authorization)


async def test_the_certificate_is_bare_and_of_version_three(a_signer):
    """Receivers that parse it by hand rely on both."""
    async with a_signer() as signer:
        pem = await signer.certificate()
    certificate = x509.load_pem_x509_certificate(pem)

    assert pem.startswith(b"-----BEGIN CERTIFICATE-----\n")
    assert pem.count(b"BEGIN") == 1
    assert certificate.version is x509.Version.v3
    assert certificate.public_key().key_size == 2048


async def test_many_signatures_at_once_find_their_askers(a_signer):
    """Answers come in the order of the questions."""
    async with a_signer() as signer:
        pem = await signer.certificate()
        texts = [f"text {number}" for number in range(50)]
        signed = dict(zip(texts, await asyncio.gather(*map(signer.authorization, texts)), strict=True))

    assert all(is_signed(pem, text, authorization) for text, authorization in signed.items())
    assert len(set(signed.values())) == 50


async def test_key_and_certificate_are_kept_and_nobody_else_can_read_the_key(a_signer, tmp_path):
    """A receiver that has stored the certificate goes on after a restart."""
    async with a_signer() as signer:
        first = await signer.certificate()
    async with a_signer() as signer:
        second = await signer.certificate()

    assert first == second
    assert stat.S_IMODE((tmp_path / "notifications" / "key.pem").stat().st_mode) == 0o600


async def test_a_certificate_near_its_end_is_renewed_with_the_same_key(a_signer):
    """Ten years later."""
    clock = VirtualClock()
    async with a_signer(clock) as signer:
        first = await signer.certificate()
    clock.move_to(clock.now() + 3_640 * DAY)
    async with a_signer(clock) as signer:
        second = await signer.certificate()

    keys = [x509.load_pem_x509_certificate(pem).public_key() for pem in (first, second)]
    assert first != second
    assert keys[0] == keys[1]


@pytest.mark.parametrize("name", ["key.pem", "certificate.pem"])
async def test_a_broken_file_is_replaced(a_signer, tmp_path, name):
    """Signatures and certificate agree again."""
    async with a_signer() as signer:
        await signer.certificate()
    (tmp_path / "notifications" / name).write_text("junk")

    async with a_signer() as signer:
        pem, authorization = await signer.certificate(), await signer.authorization("text")

    assert is_signed(pem, "text", authorization)


async def test_a_child_that_was_killed_is_started_again(a_signer):
    """Those who waited are told; the next one is served."""
    async with a_signer() as signer:
        pem = await signer.certificate()
        child = signer._starting.result()
        os.kill(child._process.pid, signal.SIGKILL)
        await until(lambda: not child.alive)
        authorization = await signer.authorization("text")

    assert is_signed(pem, "text", authorization)


async def test_who_waits_for_a_dying_child_is_told(a_signer):
    """An error, not a wait for ever."""
    async with a_signer() as signer:
        await signer.certificate()
        child = signer._starting.result()
        os.kill(child._process.pid, signal.SIGSTOP)
        waiting = asyncio.ensure_future(signer.authorization("text"))
        await until(lambda: child._waiting)
        os.kill(child._process.pid, signal.SIGKILL)
        with pytest.raises(SigningFailed):
            await waiting


async def test_a_folder_that_cannot_be_written_fails_with_a_reason(tmp_path):
    """And the next attempt tries again."""
    (tmp_path / "file").write_text("in the way")

    signer = PushSigner(tmp_path / "file", clock=SystemClock())
    try:
        for _ in range(2):
            with pytest.raises(SigningFailed, match="file"):
                await signer.authorization("text")
    finally:
        await signer.close()


async def test_nothing_is_signed_after_the_end(a_signer):
    """The emulator stops."""
    async with a_signer() as signer:
        signer.warm()
        await signer.close()
        signer.warm()
        with pytest.raises(SigningFailed):
            await signer.authorization("text")
