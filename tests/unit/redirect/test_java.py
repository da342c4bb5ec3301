"""What a Java virtual machine is told."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import pytest_asyncio

from emulator.http.certificates import CertificateAuthority
from emulator.kernel.clock import SystemClock
from emulator.redirect import compiled_hooks
from emulator.redirect.compiled_hooks import JAVA_VARIABLE, with_java, write_trust_store
from tests import ready_certificates

KEYTOOL = shutil.which("keytool")
PROXY = "http://forward:s3cret@127.0.0.1:8869"


@pytest.fixture(autouse=True)
def java_alone(monkeypatch, tmp_path):
    """A java without a compiler, and no other."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "java").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def properties(environ):
    words = with_java(environ)[JAVA_VARIABLE].split()
    return dict(word.removeprefix("-D").split("=", 1) for word in words if word.startswith("-D"))


def test_without_a_compiler_the_proxy_is_told_with_its_secret():
    """Host, port, user and password for both schemes; Basic is allowed in tunnels."""
    told = properties({"LOCALYUN_PROXY_URL": PROXY, "HTTPS_PROXY": PROXY})

    for scheme in ("http", "https"):
        assert told[f"{scheme}.proxyHost"] == "127.0.0.1"
        assert told[f"{scheme}.proxyPort"] == "8869"
        assert told[f"{scheme}.proxyPassword"] == "s3cret"
    assert told["jdk.http.auth.tunneling.disabledSchemes"] == ""
    assert "172.31.*" in told["http.nonProxyHosts"].split("|")


def test_user_s_options_come_last_and_win():
    """Of a property that is given twice Java takes the last."""
    found = with_java({"LOCALYUN_PROXY_URL": PROXY, "HTTPS_PROXY": PROXY, JAVA_VARIABLE: "-Xmx1g"})

    assert found[JAVA_VARIABLE].endswith(" -Xmx1g")


def test_without_java_nothing_is_told(tmp_path):
    """The trust store is not made for nothing."""
    environ = {"PATH": str(tmp_path / "none"), "LOCALYUN_CA_BUNDLE": str(tmp_path / "none.pem")}

    assert with_java(environ) == environ


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def authority(tmp_path_factory):
    """The certificate of an authority."""
    folder = tmp_path_factory.mktemp("authority")
    made = ready_certificates.authority(CertificateAuthority)(folder, accepts=lambda host: True, clock=SystemClock())
    content = (await made.ensure_ca()).read_bytes()
    await made.close()
    return content


@pytest.fixture
def bundle(tmp_path, authority):
    """A bundle with an authority, twice, and a certificate that cannot be read."""
    folder = tmp_path / "my ca"
    folder.mkdir()
    path = folder / "bundle.pem"
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    path.write_bytes(b"# first\n" + broken + authority + b"# again\n" + authority)
    return path


@pytest.mark.skipif(KEYTOOL is None, reason="needs Java's keytool")
def test_java_reads_the_trust_store(bundle):
    """The authority is in it once, as one that is trusted."""
    store = write_trust_store(bundle)

    listed = subprocess.run(
        [KEYTOOL, "-list", "-keystore", str(store), "-storepass", "changeit"],
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip

    assert listed.count("trustedCertEntry") == 1


def test_trust_store_follows_the_bundle(bundle):
    """The same bundle gives the same file without work, a changed one another; old ones go."""
    first = write_trust_store(bundle)
    made = first.stat().st_mtime_ns
    assert write_trust_store(bundle) == first
    assert first.stat().st_mtime_ns == made

    for number in range(6):
        bundle.write_bytes(bundle.read_bytes() + b"# %d\n" % number)
        os.utime(write_trust_store(bundle), (number, made // 10**9 + number + 1))

    assert len(list(bundle.parent.glob("java-*.p12"))) == 4
    assert not first.exists()


def test_path_with_spaces_is_quoted(bundle):
    """Java splits its options at blanks outside quotes."""
    found = with_java({"LOCALYUN_CA_BUNDLE": str(bundle)})

    assert f"'-Djavax.net.ssl.trustStore={write_trust_store(bundle)}'" in found[JAVA_VARIABLE]
    assert " " in str(Path(bundle))


@pytest.mark.parametrize(("installed", "trusts"), [("50.0.2", True), ("45.0.0", True), ("38.0.4", False)])
def test_older_cryptography_writes_no_trust_store(bundle, monkeypatch, installed, trusts):
    """That of Debian 12 stays where it is; everything else works with it."""
    monkeypatch.setattr(compiled_hooks, "version", lambda _: installed)

    found = with_java({"LOCALYUN_CA_BUNDLE": str(bundle)})

    assert ("trustStore" in found.get(JAVA_VARIABLE, "")) is trusts
