"""The signer of pushes: a real child process, its key, and what happens when it goes."""

import asyncio
import base64
import contextlib
import io
import os
import signal
import stat

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from emulator.auth import push, push_child
from emulator.auth.push import FRAME_HEAD, PushSigner, SigningFailed
from emulator.http.certificate_files import times
from emulator.kernel.clock import DAY, SystemClock, VirtualClock
from tests.waiting import until


def verify(pem, text, authorization):
    key = x509.load_pem_x509_certificate(pem).public_key()
    key.verify(base64.b64decode(authorization), text.encode(), padding.PKCS1v15(), hashes.SHA1())


def is_signed(pem, text, authorization):
    """Whether *authorization* is the signature of *text* by the certificate's key."""
    try:
        verify(pem, text, authorization)
    except InvalidSignature:
        return False
    return True


@pytest.fixture(scope="module")
def key():
    """A key that is made once: to make one takes as long as all else that most signers do."""
    return rsa.generate_private_key(public_exponent=65537, key_size=push_child.KEY_BITS).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@pytest.fixture
def with_key(tmp_path, key):
    """Signers find a key in their folder."""
    (tmp_path / "notifications").mkdir()
    (tmp_path / "notifications" / "key.pem").write_bytes(key)


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


@pytest.mark.usefixtures("with_key")
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


@pytest.mark.usefixtures("with_key")
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


@pytest.mark.usefixtures("with_key")
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


@pytest.mark.usefixtures("with_key")
@pytest.mark.parametrize("name", ["key.pem", "certificate.pem"])
async def test_a_broken_file_is_replaced(a_signer, tmp_path, name):
    """Signatures and certificate agree again."""
    async with a_signer() as signer:
        await signer.certificate()
    (tmp_path / "notifications" / name).write_text("junk")

    async with a_signer() as signer:
        pem, authorization = await signer.certificate(), await signer.authorization("text")

    assert is_signed(pem, "text", authorization)


@pytest.mark.usefixtures("with_key")
async def test_a_child_that_was_killed_is_started_again(a_signer):
    """Those who waited are told; the next one is served."""
    async with a_signer() as signer:
        pem = await signer.certificate()
        child = signer._starting.result()
        os.kill(child._process.pid, signal.SIGKILL)
        await until(lambda: not child.alive)
        authorization = await signer.authorization("text")

    assert is_signed(pem, "text", authorization)


@pytest.mark.usefixtures("with_key")
async def test_who_waits_for_a_dying_child_is_told(a_signer):
    """An error, not a wait for ever, beside one who has given up."""
    async with a_signer() as signer:
        await signer.certificate()
        child = signer._starting.result()
        os.kill(child._process.pid, signal.SIGSTOP)
        given_up = asyncio.ensure_future(signer.authorization("given up"))
        waiting = asyncio.ensure_future(signer.authorization("text"))
        await until(lambda: len(child._waiting) == 2)
        given_up.cancel()
        await until(given_up.done)
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


@pytest.mark.usefixtures("with_key")
async def test_a_dead_child_is_asked_for_nothing(a_signer):
    """Who got hold of it before it ended learns that at once."""
    async with a_signer() as signer:
        await signer.certificate()
        child = signer._starting.result()
        child.kill()
        await until(lambda: not child.alive)

        with pytest.raises(SigningFailed, match="has ended"):
            await child.sign(b"text")


@pytest.mark.usefixtures("with_key")
async def test_a_signature_nobody_waits_for_is_dropped(a_signer):
    """The answers that follow still find their askers."""
    async with a_signer() as signer:
        pem = await signer.certificate()
        child = signer._starting.result()
        given_up = asyncio.ensure_future(child.sign(b"given up"))
        await asyncio.sleep(0)
        given_up.cancel()
        authorization = await signer.authorization("text")

    assert is_signed(pem, "text", authorization)


@pytest.mark.usefixtures("with_key")
async def test_the_last_words_of_a_child_are_logged(a_signer, monkeypatch, caplog):
    """Whoever looks for the reason why pushes stopped finds it there."""
    monkeypatch.setenv("PYTHONFAULTHANDLER", "1")
    async with a_signer() as signer:
        await signer.certificate()
        child = signer._starting.result()
        os.kill(child._process.pid, signal.SIGABRT)
        await until(lambda: caplog.records)

    assert "the process that signs pushes has ended: " in caplog.text


@pytest.mark.usefixtures("with_key")
async def test_a_child_that_does_not_end_is_killed(a_signer, monkeypatch):
    """A stopped process does not notice that its input has ended."""
    monkeypatch.setattr(push, "_END_S", 0.01)
    async with a_signer() as signer:
        await signer.certificate()
        process = signer._starting.result()._process
        os.kill(process.pid, signal.SIGSTOP)

    assert await process.wait() == -signal.SIGKILL


async def test_a_child_that_is_still_starting_ends_with_the_signer(a_signer, monkeypatch):
    """Nothing is left behind when the emulator stops right after its start."""
    greeted = []

    async def silent(child):
        greeted.append(child._process)
        await asyncio.Event().wait()

    monkeypatch.setattr(push._Child, "greet", silent)
    async with a_signer() as signer:
        signer.warm()
        await until(lambda: greeted)

    assert greeted[0].returncode == -signal.SIGKILL


def test_the_child_answers_each_frame_until_its_input_ends(tmp_path):
    """A frame is a length and that many bytes; half a length is the end."""
    frames = (b"one", b"two")
    source = io.BytesIO(b"".join(len(text).to_bytes(FRAME_HEAD, "big") + text for text in frames) + b"\0\0")
    sink = io.BytesIO()

    push_child.main(tmp_path / "new", times(SystemClock()), source, sink)

    answers, data = [], sink.getvalue()
    while data:
        end = FRAME_HEAD + int.from_bytes(data[:FRAME_HEAD], "big")
        answers.append(data[FRAME_HEAD:end])
        data = data[end:]
    pem, *signatures = (base64.b64encode(answer) for answer in answers)
    assert len(signatures) == len(frames)
    assert all(map(is_signed, [base64.b64decode(pem)] * 2, [text.decode() for text in frames], signatures))
