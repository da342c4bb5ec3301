"""Pushes as a receiver sees them."""

import asyncio
import base64
import shutil
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from emulator.auth.push import PushSigner, SigningFailed
from emulator.http.certificates import CertificateAuthority
from emulator.kernel.clock import SystemClock
from emulator.services.mns import admin
from emulator.services.mns.service import CERTIFICATE_PAGE
from emulator.services.mns.topics.model import ContentFormat
from emulator.wire.operation import operations_of
from tests import ready_certificates


def signed_text(push):
    """Put the string to sign together as the vendor's sample receivers do."""
    service = sorted((name, value) for name, value in push.headers.items() if name.startswith("x-mns-"))
    first = ["POST", push.headers["Content-md5"], push.headers["Content-Type"], push.headers["Date"]]
    return "\n".join([*first, *(f"{name}:{value}" for name, value in service), push.target])


async def test_every_format_verifies_with_the_real_key(new_site, tmp_path):
    """Key and certificate of a real signer; the certificate's address is among what is signed."""
    signer = PushSigner(tmp_path / "notifications", clock=SystemClock())

    async with new_site(signer=signer) as site:
        receiver = await site.receiver(204)
        site.topic()
        for content_format in ContentFormat:
            site.subscribe(f"{receiver.url}/in?x=%20y", name=content_format.value, content_format=content_format)
        site.publish("hello 你好", tag="red")
        await site.settle()
        key = x509.load_pem_x509_certificate(await site.service.certificate()).public_key()
        await signer.close()

        assert len(receiver.pushes) == 4
        for push in receiver.pushes:
            signature = base64.b64decode(push.headers["Authorization"])
            key.verify(signature, signed_text(push).encode(), padding.PKCS1v15(), hashes.SHA1())
            assert push.target == "/in?x=%20y"
            assert push.headers["Connection"] == "keep-alive"
            url = base64.b64decode(push.headers["x-mns-signing-cert-url"]).decode()
            assert url == "http://127.0.0.1:8868/_localyun/mns/signing-cert.pem"


def test_the_certificate_is_served_where_pushes_say(new_site):
    """Gateway and service name the same page."""
    assert f"GET /{CERTIFICATE_PAGE}" in {each.route for each in operations_of(admin)}


async def test_twenty_subscribers_all_get_the_message_signed(new_site, tmp_path):
    """Each with a signature of its own."""
    signer = PushSigner(tmp_path / "notifications", clock=SystemClock())

    async with new_site(signer=signer) as site:
        receivers = [await site.receiver(204) for _ in range(20)]
        site.topic()
        for number, receiver in enumerate(receivers):
            site.subscribe(receiver.url, name=f"s{number}")
        site.publish("to all")
        await site.settle()
        await signer.close()

        pushes = [push for receiver in receivers for push in receiver.pushes]
        assert [push.body for push in pushes] == [b"to all"] * 20
        assert len({push.headers["Authorization"] for push in pushes}) == 20
        assert {push.target for push in pushes} == {"/notifications"}


async def test_the_signer_is_warmed_by_a_web_subscription_only(new_site):
    """Queues need no signatures."""
    async with new_site() as site:
        site.topic()
        site.to_queue(name="queue")
        before = site.signer.warmed
        site.subscribe("http://127.0.0.1:1/", name="web")

        assert (before, site.signer.warmed) == (0, 1)


async def test_a_push_that_cannot_be_signed_is_tried_again(new_site):
    """The reason is in the report."""

    class Broken:
        def warm(self):
            pass

        async def authorization(self, text):
            raise SigningFailed("no key today")

    async with new_site(signer=Broken()) as site:
        receiver = await site.receiver(204)
        site.topic()
        site.subscribe(receiver.url)
        site.publish()
        await site.settle()

        assert receiver.pushes == []
        assert site.reports()[0].last_result == "no key today"


def there(path):
    """Return what finds the file of authorities at once."""

    async def find():
        return path

    return find


async def test_tls_receivers_with_the_emulator_s_own_certificates_are_trusted(new_site, tmp_path):
    """An address over https works when an authority that is trusted has signed its certificate."""
    async with new_site(trusted=there(tmp_path / "ca.pem")) as site:
        received = asyncio.Event()

        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            received.set()
            writer.write(b"HTTP/1.0 204 X\r\n\r\n")
            await writer.drain()
            writer.close()

        authority = ready_certificates.authority(CertificateAuthority)(
            tmp_path, accepts=lambda name: True, clock=SystemClock()
        )
        await authority.ensure_ca()
        context = await authority.context("localhost")
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        site.topic()
        site.subscribe(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        site.publish()
        await site.settle()
        server.close()
        await authority.close()

        assert received.is_set()
        assert site.reports()[0].last_result == "HTTP 204"


async def test_the_first_push_over_tls_waits_for_the_authority(new_site, tmp_path):
    """What is trusted is read once: without the authority, no push would reach such an address until the next start."""
    asked, made = asyncio.Event(), asyncio.Event()

    async def trusted():
        asked.set()
        await made.wait()
        return tmp_path / "made.pem"

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 204 X\r\n\r\n")
        await writer.drain()
        writer.close()

    async with new_site(trusted=trusted) as site:
        authority = ready_certificates.authority(CertificateAuthority)(
            tmp_path / "ca", accepts=lambda name: True, clock=SystemClock()
        )
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=await authority.context("localhost"))
        site.topic()
        site.subscribe(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        site.publish()
        await asked.wait()
        shutil.copy(tmp_path / "ca" / "ca.pem", tmp_path / "made.pem")
        made.set()
        await site.settle()
        server.close()
        await authority.close()

        assert site.reports()[0].last_result == "HTTP 204"


async def test_tls_receivers_nobody_vouches_for_are_not(new_site, tmp_path):
    """The certificate is checked."""
    async with new_site(trusted=there(tmp_path / "nothing.pem")) as site:
        authority = ready_certificates.authority(CertificateAuthority)(
            tmp_path, accepts=lambda name: True, clock=SystemClock()
        )
        context: ssl.SSLContext = await authority.context("localhost")
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
        site.topic()
        site.subscribe(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        site.publish()
        await site.settle()
        server.close()
        await authority.close()

        assert "certificate" in site.reports()[0].last_result.lower()
