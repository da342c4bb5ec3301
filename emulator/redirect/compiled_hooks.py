"""Hooks that a compiler on this machine builds at first use: an agent for Java, and a library for programs with libc.

A Java virtual machine also needs a trust store, a file beside the bundle of certificates, and properties.
"""

import hashlib
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from emulator.kernel.compiled import CompilerMissing, built_jar, built_library, java_program
from emulator.kernel.system import drafted

JAVA_VARIABLE = "JAVA_TOOL_OPTIONS"
STORE_PASSWORD = "changeit"  # noqa: S105 - a trust store holds no secrets, and Java wants one
_JAVA_DIRECT = "localhost|*.localhost|127.*|[::1]|10.*|192.168.*|" + "|".join(
    f"172.{number}.*" for number in range(16, 32)
)
_JAVA_AGENT = Path(__file__).parent / "java" / "redirect"
_STORES_KEPT = 4

PRELOAD_VARIABLE = "LD_PRELOAD"
_LIBRARY = Path(__file__).parent / "c" / "localyun_redirect.c"


class CannotBuild(Exception):
    """The library cannot be built; the text says why."""


def with_preload(environ: Mapping[str, str]) -> dict[str, str]:
    """Return *environ* with the library added to the front of ``LD_PRELOAD``.

    Raises: CannotBuild.
    """
    if sys.platform != "linux":
        raise CannotBuild(f"{PRELOAD_VARIABLE} needs Linux, and this is {sys.platform}")
    try:
        library = str(built_library("redirect", _LIBRARY))
    except (CompilerMissing, OSError) as error:
        raise CannotBuild(str(error)) from error
    return {**environ, PRELOAD_VARIABLE: " ".join(filter(None, (library, environ.get(PRELOAD_VARIABLE))))}


def with_java(environ: Mapping[str, str]) -> dict[str, str]:
    """Return *environ* with the hook's options before the user's own in ``JAVA_TOOL_OPTIONS``.

    The proxy is that of ``LOCALYUN_PROXY_URL``, the authorities are those of ``LOCALYUN_CA_BUNDLE``. A Java virtual
    machine reads neither proxy variables nor bundles in PEM form, so it gets the authorities in a trust store beside
    the bundle, and an agent that logs in to the proxy for clients that cannot. Without a compiler for the agent it gets
    the proxy in its own properties, which is enough for clients that read user and password there.

    Source: Java networking properties; java.lang.instrument; keytool, ``PKCS12`` trust stores.
    """
    try:
        java = java_program(environ)
    except CompilerMissing:
        return dict(environ)  # not for nothing: making the trust store takes long
    options = [_quoted_java(option) for option in (*_java_proxy(environ, java), *_java_trust(environ))]
    return {**environ, JAVA_VARIABLE: " ".join(filter(None, (*options, environ.get(JAVA_VARIABLE))))}


def _quoted_java(option: str) -> str:
    """Return *option* quoted for the virtual machine, which knows quotes but no escapes."""
    quote = '"' if "'" in option else "'"
    return f"{quote}{option}{quote}" if any(letter.isspace() or letter in "'\"" for letter in option) else option


def _java_proxy(environ: Mapping[str, str], java: str) -> Iterator[str]:
    proxy = environ.get("LOCALYUN_PROXY_URL")
    if not proxy or environ.get("HTTPS_PROXY") != proxy:
        return
    yield f"-Dhttp.nonProxyHosts={_JAVA_DIRECT}"
    try:
        yield f"-javaagent:{built_jar(java, _JAVA_AGENT, manifest={'Premain-Class': 'redirect.Agent'})}"
    except (CompilerMissing, OSError):
        where = urlsplit(proxy)
        parts = {"Host": where.hostname, "Port": where.port, "User": where.username, "Password": where.password}
        yield from (f"-D{scheme}.proxy{name}={part}" for scheme in ("http", "https") for name, part in parts.items())
        yield "-Djdk.http.auth.tunneling.disabledSchemes="  # Basic is off in tunnels by default


def _java_trust(environ: Mapping[str, str]) -> Iterator[str]:
    if (bundle := environ.get("LOCALYUN_CA_BUNDLE")) and writes_trust_stores():
        yield f"-Djavax.net.ssl.trustStore={write_trust_store(Path(bundle))}"
        yield "-Djavax.net.ssl.trustStoreType=PKCS12"
        yield f"-Djavax.net.ssl.trustStorePassword={STORE_PASSWORD}"


def writes_trust_stores() -> bool:
    """Whether the installed `cryptography`, perhaps the system's, can write trust stores: 45 or newer."""
    return int(version("cryptography").partition(".")[0]) >= 45


def write_trust_store(bundle: Path) -> Path:
    """Return a PKCS#12 trust store with the certificates of *bundle*, beside it; made when the bundle has changed.

    Certificates that cannot be read are left out, as TLS libraries do.

    Raises: OSError.
    """
    content = bundle.read_bytes()
    store = bundle.with_name(f"java-{hashlib.sha256(content).hexdigest()[:16]}.p12")
    if store.is_file():
        return store
    with drafted(store) as draft:
        draft.write_bytes(_trust_store(content))
    others = [path for path in bundle.parent.glob("java-*.p12") if path != store]
    for old in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[_STORES_KEPT - 1 :]:
        old.unlink(missing_ok=True)
    return store


def _trust_store(bundle: bytes) -> bytes:
    # Slow to import, and needed the first time only.
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

    end = b"-----END CERTIFICATE-----"
    trusted: dict[bytes, PKCS12Certificate] = {}
    for number, piece in enumerate(bundle.split(end)[:-1]):
        with warnings.catch_warnings(action="ignore"), suppress(ValueError):  # invalid serial numbers
            certificate = x509.load_pem_x509_certificate(piece[piece.index(b"-----BEGIN") :] + end)
            trusted.setdefault(certificate.tbs_certificate_bytes, PKCS12Certificate(certificate, b"ca%d" % number))
    return serialize_java_truststore(list(trusted.values()), BestAvailableEncryption(STORE_PASSWORD.encode()))
