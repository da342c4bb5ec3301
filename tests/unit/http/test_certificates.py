"""The private certificate authority: what it makes, what it refuses, when it renews."""

import asyncio
import shutil
import ssl
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from emulator.http import certificates
from emulator.http.certificate_files import (
    LEAF_DAYS,
    REGIONS,
    authority_facts,
    is_host_name,
    leaf_facts,
    leaf_of,
    leaf_path,
)
from emulator.http.certificates import CertificateAuthority, MintingFailed, NameRefused
from emulator.kernel.clock import DAY, FURTHEST, AdjustableClock, SystemClock, VirtualClock

CLOUD = "123.cn-hangzhou.fc.aliyuncs.com"
NAME = "shop.api.localhost"


@pytest.fixture
async def an_authority():
    """Makes authorities that are closed with the test: ``an_authority(folder, options)``."""
    made = []

    def make(folder: Path, **options) -> CertificateAuthority:
        chosen = {"accepts": lambda name: True, "clock": SystemClock(), **options}
        made.append(CertificateAuthority(folder, **chosen))
        return made[-1]

    yield make
    for authority in made:
        await authority.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ca(tmp_path_factory) -> Path:
    """A folder with an authority, the common leaf and one for another name."""
    folder = tmp_path_factory.mktemp("state") / "ca"
    authority = CertificateAuthority(folder, accepts=lambda name: True, clock=SystemClock())
    await authority.prepare([NAME])
    await authority.close()
    return folder


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def extension(cert: x509.Certificate, kind):
    return cert.extensions.get_extension_for_class(kind)


def handshake(ca_file: Path, leaf: Path, name: str) -> None:
    """Verify *leaf* for *name* as the strictest client would, without sockets."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(leaf)
    client = ssl.create_default_context(cafile=ca_file)
    client.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    upstream, downstream = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(downstream, upstream, server_hostname=name),
        server.wrap_bio(upstream, downstream, server_side=True),
    ]
    for end in ends * 3:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    ends[0].do_handshake()  # raises unless the handshake is complete


@pytest.mark.parametrize(
    "name",
    [
        "localhost", "127.0.0.1", "::1", "sts.aliyuncs.com", "cn-hangzhou.fnf.aliyuncs.com", CLOUD,
        "123.cn-hangzhou.fnf.aliyuncs.com",
        "123.mns.cn-beijing.aliyuncs.com", "123.mns.cn-shanghai-internal-vpc.aliyuncs.com",
        "fcv3.eu-west-1.aliyuncs.com", "bucket.oss-cn-hangzhou.aliyuncs.com", "web-abc.cn-shenzhen.fcapp.run",
        "123.cn-qingdao-internal.fc.aliyuncs.com", "cn-hangzhou.fc.aliyuncs.com", "oss-cn-hangzhou.aliyuncs.com",
    ],
)  # fmt: skip
def test_a_strict_client_that_trusts_the_authority_accepts_the_leaves_made_ahead(ca, name):
    """Strict verification as Python 3.13 does it passes, for every form of the services' endpoints."""
    leaf = "localhost" if name in {"127.0.0.1", "::1"} else leaf_of(name)

    handshake(ca / "ca.pem", leaf_path(ca, leaf), name)

    assert leaf in {"localhost", *REGIONS}


def test_any_other_name_has_a_leaf_of_its_own(ca):
    handshake(ca / "ca.pem", leaf_path(ca, NAME), NAME)

    assert leaf_of(NAME) == NAME


def test_a_leaf_is_for_its_name_only(ca):
    """A certificate made for one host does not serve another."""
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(ca / "ca.pem", leaf_path(ca, NAME), f"x{NAME}")


def test_the_authority_is_bound_to_the_emulated_names(ca):
    """Its constraints permit the clouds' suffixes, localhost and loopback addresses, and are critical."""
    cert = certificate(ca / "ca.pem")

    constraints = extension(cert, x509.NameConstraints)

    assert constraints.critical
    assert {str(name.value) for name in constraints.value.permitted_subtrees} == {
        "aliyuncs.com",
        "fcapp.run",
        "localhost",
        "127.0.0.0/8",
        "::1/128",
    }
    assert extension(cert, x509.BasicConstraints).value == x509.BasicConstraints(ca=True, path_length=0)
    assert extension(cert, x509.KeyUsage).value.key_cert_sign
    assert (cert.not_valid_after_utc - datetime.now(UTC)).days <= 365


def test_a_stolen_key_cannot_pose_as_another_site(ca, tmp_path):
    """A leaf for a foreign name, signed by the authority's own key, is refused by clients that trust it."""
    program = (
        "import sys; from pathlib import Path; from emulator.http import minting; "
        "folder = Path(sys.argv[1]); now = (int(sys.argv[2]),) * 2; "
        "key, issuer = minting._authority(folder, now, []); "
        "minting._mint_leaf(folder, 'www.example.com', now, key, issuer)"
    )
    subprocess.run([sys.executable, "-c", program, str(ca), str(SystemClock().now())], check=True, timeout=60)

    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree"):
        handshake(ca / "ca.pem", leaf_path(ca, "www.example.com"), "www.example.com")


def test_a_leaf_has_what_clients_ask_for(ca):
    """The exact name, server use, identifiers of both keys, and a life under 398 days."""
    cert = certificate(leaf_path(ca, NAME))
    authority = certificate(ca / "ca.pem")

    names = extension(cert, x509.SubjectAlternativeName).value

    assert names.get_values_for_type(x509.DNSName) == [NAME]
    assert x509.oid.ExtendedKeyUsageOID.SERVER_AUTH in extension(cert, x509.ExtendedKeyUsage).value
    assert (
        extension(cert, x509.AuthorityKeyIdentifier).value.key_identifier
        == extension(authority, x509.SubjectKeyIdentifier).value.digest
    )
    assert (cert.not_valid_after_utc - cert.not_valid_before_utc).days < 398


def test_keys_are_readable_by_their_owner_only(ca):
    """The authority's key and every leaf are 0600, their folders 0700."""
    files = [ca / "ca-key.pem", leaf_path(ca, NAME)]

    modes = {stat.S_IMODE(path.stat().st_mode) for path in files}

    assert modes == {0o600}
    assert stat.S_IMODE(ca.stat().st_mode) & 0o077 == 0
    serialization.load_pem_private_key((ca / "ca-key.pem").read_bytes(), None)


def test_the_server_itself_never_imports_the_certificate_library(tmp_path):
    """Making and using certificates leaves ``cryptography`` to the child."""
    program = (
        "import asyncio, sys; from pathlib import Path; "
        "from emulator.http.certificates import CertificateAuthority; from emulator.kernel.clock import SystemClock; "
        "a = CertificateAuthority(Path(sys.argv[1]), accepts=lambda name: True, clock=SystemClock()); "
        "asyncio.run(a.context('localhost')); sys.exit('cryptography' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "ca")], timeout=60)

    assert done.returncode == 0


async def test_names_asked_for_at_once_are_made_once(an_authority, tmp_path, monkeypatch):
    """However many connections wait for a name, one certificate is made, and those for other names share a child."""
    authority = an_authority(tmp_path / "ca")
    batches = []
    original = authority._run_child

    async def counting(names):
        batches.append(names)
        return await original(names)

    monkeypatch.setattr(authority, "_run_child", counting)
    asked = ["a.b.fcapp.run"] * 5 + [f"{number}.b.fcapp.run" for number in range(10)]

    contexts = await asyncio.gather(*(authority.context(name) for name in asked))

    assert len({id(context) for context in contexts}) == 11
    assert sorted(name for batch in batches for name in batch) == sorted({*asked, "localhost", *REGIONS})
    assert len(batches) <= 2


async def test_a_leaf_on_disk_is_used_again(an_authority, ca, monkeypatch):
    """A later server finds what an earlier one made."""
    authority = an_authority(ca)

    async def no_child(names):
        raise AssertionError(names)

    monkeypatch.setattr(authority, "_run_child", no_child)

    context = await authority.context(NAME)

    assert context.get_ca_certs() == []
    assert isinstance(context, ssl.SSLContext)


@pytest.mark.parametrize("name", ["", "a..b", "-a.fcapp.run", "*.fcapp.run", "../x.fcapp.run", "a" * 64 + ".fcapp.run"])
async def test_what_is_no_host_name_is_refused(an_authority, tmp_path, name):
    """Nothing but letters, digits, dots and inner hyphens gets near a file name or a certificate."""
    authority = an_authority(tmp_path / "ca")

    with pytest.raises(NameRefused):
        await authority.context(name)

    assert not is_host_name(name)
    assert not (tmp_path / "ca").exists()


async def test_names_outside_the_emulator_are_refused(an_authority, tmp_path):
    """Neither a name beyond the constraints nor one the emulator does not serve gets a certificate."""
    authority = an_authority(tmp_path / "ca", accepts=lambda name: not name.startswith("evil"))

    for name in ("www.example.com", "evil.fcapp.run", "xaliyuncs.com"):
        with pytest.raises(NameRefused):
            await authority.context(name)
    assert not (tmp_path / "ca").exists()


async def test_a_leaf_is_renewed_before_it_ends(an_authority, tmp_path):
    """A long-running server replaces a certificate weeks before clients would refuse it."""
    clock = VirtualClock(SystemClock().now())
    authority = an_authority(tmp_path / "ca", clock=clock)

    first = await authority.context(NAME)
    again = await authority.context(NAME)
    clock.move_to(clock.now() + (LEAF_DAYS - 10) * DAY)
    renewed = await authority.context(NAME)

    assert first is again
    assert renewed is not first
    facts = leaf_facts(tmp_path / "ca", NAME)
    assert facts is not None
    assert facts.not_after > clock.now() + 60 * DAY


async def test_a_renewed_authority_keeps_its_key(an_authority, tmp_path):
    """Near its end the authority gets a new certificate for the same key, so its leaves stay good."""
    clock = VirtualClock(SystemClock().now())
    authority = an_authority(tmp_path / "ca", clock=clock)

    await authority.ensure_ca()
    before = authority_facts(tmp_path / "ca")
    clock.move_to(clock.now() + 320 * DAY)
    await authority.ensure_ca()
    after = authority_facts(tmp_path / "ca")

    assert before.key_id == after.key_id
    assert after.not_after - before.not_after == 320 * DAY


@pytest.mark.parametrize("offset_ms", [-2000 * DAY, 0, 500 * DAY, 9000 * 365 * DAY], ids=str)
async def test_certificates_are_valid_by_the_machine_s_time_and_the_emulator_s(an_authority, tmp_path, offset_ms):
    """Clients outside have the machine's time; programs under libfaketime have the emulator's."""
    clock = AdjustableClock()
    clock.restore(offset_ms, None)
    clock.freeze(min(clock.now(), FURTHEST))
    authority = an_authority(tmp_path / "ca", clock=clock)

    await authority.context(NAME)

    handshake(tmp_path / "ca" / "ca.pem", leaf_path(tmp_path / "ca", NAME), NAME)
    for path in (tmp_path / "ca" / "ca.pem", leaf_path(tmp_path / "ca", NAME)):
        begin, end = certificate(path).not_valid_before_utc, certificate(path).not_valid_after_utc
        assert begin.timestamp() * 1000 < clock.now()
        assert end.timestamp() * 1000 > min(clock.now(), FURTHEST - 10 * 366 * DAY)


async def test_a_clock_that_is_moved_ahead_leaves_https_usable(an_authority, tmp_path):
    """What is renewed then goes on being valid now."""
    clock = AdjustableClock()
    authority = an_authority(tmp_path / "ca", clock=clock)
    first = await authority.context(NAME)

    clock.restore(400 * DAY, None)
    renewed = await authority.context(NAME)

    assert renewed is not first
    handshake(tmp_path / "ca" / "ca.pem", leaf_path(tmp_path / "ca", NAME), NAME)


async def test_a_custom_domain_widens_the_authority(an_authority, ca, tmp_path):
    """A domain of the user's own is permitted once it is configured, and stays so."""
    shutil.copytree(ca, tmp_path / "ca")
    authority = an_authority(tmp_path / "ca", domains=["Shop.Example"])

    await authority.context("api.shop.example")

    handshake(tmp_path / "ca" / "ca.pem", leaf_path(tmp_path / "ca", "api.shop.example"), "api.shop.example")
    facts = authority_facts(tmp_path / "ca")
    assert facts is not None
    assert "shop.example" in facts.names


async def test_hosts_without_certificates_do_not_keep_the_server_from_starting(an_authority, tmp_path, caplog):
    """An address or an odd name among the user's hosts is served over plain HTTP only, and the log says so."""
    authority = an_authority(tmp_path / "ca", domains=["192.168.1.5", "my-box-", "::1"])

    await authority.ensure_ca()

    facts = authority_facts(tmp_path / "ca")
    assert facts is not None
    assert facts.names == ("aliyuncs.com", "fcapp.run", "localhost")
    assert caplog.text.count("is not served over HTTPS") == 3


async def test_a_broken_authority_is_made_anew(an_authority, ca, tmp_path):
    """Damaged files do not keep the server from serving."""
    folder = tmp_path / "ca"
    shutil.copytree(ca, folder)
    (folder / "ca-key.pem").write_text("broken")
    (folder / "ca.pem").write_text("broken")

    again = an_authority(folder)
    await again.ensure_ca()

    handshake(folder / "ca.pem", leaf_path(folder, "localhost"), "localhost")
    assert authority_facts(folder) is not None


async def test_a_child_that_fails_is_an_error_of_its_own(an_authority, tmp_path, caplog):
    """When nothing can be written the caller learns it, and the log has what the child said."""
    (tmp_path / "ca").write_text("a file where the folder should be")
    authority = an_authority(tmp_path / "ca")

    with pytest.raises(MintingFailed):
        await authority.ensure_ca()

    assert "FileExistsError" in caplog.text


async def test_a_child_that_hangs_is_ended(an_authority, tmp_path, monkeypatch):
    """Connections do not wait for ever for a certificate."""
    monkeypatch.setattr(certificates, "_CHILD_S", 0)
    authority = an_authority(tmp_path / "ca")

    with pytest.raises(MintingFailed, match="within 0 s"):
        await authority.ensure_ca()


async def test_closing_ends_those_who_wait(an_authority, tmp_path):
    """A server that stops leaves nobody waiting for a certificate."""
    authority = an_authority(tmp_path / "ca")

    waiting = [asyncio.create_task(authority.context(f"{number}.fcapp.run")) for number in range(100)]
    await asyncio.sleep(0)  # each of them waits now
    await authority.close()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)

    assert {type(outcome) for outcome in outcomes} == {MintingFailed}


async def test_domain_permitted_later_renews_the_authority_with_the_same_key(an_authority, ca, tmp_path):
    """Leaves made before stay good; the new name gets one of its own."""
    shutil.copytree(ca, tmp_path, dirs_exist_ok=True)  # with one for NAME
    authority = an_authority(tmp_path)

    first = authority_facts(tmp_path)
    with pytest.raises(NameRefused):
        await authority.context("shop.example")
    assert authority.register("shop.example")
    await authority.prepare()
    assert not authority.register("shop.example")
    await authority.context("shop.example")
    second = authority_facts(tmp_path)

    assert first.key_id == second.key_id
    assert "shop.example" in second.names
    handshake(tmp_path / "ca.pem", leaf_path(tmp_path, "shop.example"), "shop.example")
    handshake(tmp_path / "ca.pem", leaf_path(tmp_path, NAME), NAME)


async def test_registered_names_are_made_ahead(an_authority, ca, tmp_path):
    """A common one needs nothing; one that is given up is not made again."""
    shutil.copytree(ca, tmp_path, dirs_exist_ok=True)
    authority = an_authority(tmp_path)

    assert not authority.register("web.cn-hangzhou.fcapp.run")
    assert authority.register("api.shop.localhost")
    assert authority.register("old.shop.localhost")
    authority.unregister("old.shop.localhost")
    await authority.prepare()

    assert leaf_path(tmp_path, "api.shop.localhost").exists()
    assert not leaf_path(tmp_path, "old.shop.localhost").exists()
