"""What a Java virtual machine gets so that its programs find the emulator: options in ``JAVA_TOOL_OPTIONS``.

The machine reads neither the proxy variables nor a bundle in PEM form, so the proxy is told in its own properties and
the authorities in a trust store beside the bundle. Clients that bring an HTTP library of their own may ignore the
properties; most of these read the proxy variables instead.

Source: Java networking properties; keytool, ``PKCS12`` trust stores.
"""

import hashlib
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

VARIABLE = "JAVA_TOOL_OPTIONS"
STORE_PASSWORD = "changeit"  # noqa: S105 - a trust store holds no secrets, and Java wants one

_DIRECT = "localhost|*.localhost|127.*|[::1]|10.*|192.168.*|" + "|".join(f"172.{number}.*" for number in range(16, 32))
_STORES_KEPT = 4


def with_java(environ: Mapping[str, str]) -> dict[str, str]:
    """Return *environ* with the options in front of the user's own.

    The proxy is that of ``LOCALYUN_PROXY_URL``, the authorities are those of ``LOCALYUN_CA_BUNDLE``.
    """
    if "JAVA_HOME" not in environ and shutil.which("java", path=environ.get("PATH")) is None:
        return dict(environ)  # the trust store takes longer than the rest
    options = [_quoted(f"-D{name}={value}") for name, value in _properties(environ)]
    return {**environ, VARIABLE: " ".join(filter(None, (*options, environ.get(VARIABLE))))}


def _quoted(option: str) -> str:
    """Return *option* as the virtual machine reads it; it knows quotes and no escapes."""
    quote = '"' if "'" in option else "'"
    return f"{quote}{option}{quote}" if any(letter.isspace() or letter in "'\"" for letter in option) else option


def _properties(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    proxy = environ.get("LOCALYUN_PROXY_URL")
    if proxy and environ.get("HTTPS_PROXY") == proxy:
        where = urlsplit(proxy)
        for scheme in ("http", "https"):
            yield f"{scheme}.proxyHost", where.hostname or ""
            yield f"{scheme}.proxyPort", str(where.port)
            yield f"{scheme}.proxyUser", where.username or ""
            yield f"{scheme}.proxyPassword", where.password or ""
        yield "http.nonProxyHosts", _DIRECT
        yield "jdk.http.auth.tunneling.disabledSchemes", ""  # Basic is off in tunnels by default
    if bundle := environ.get("LOCALYUN_CA_BUNDLE"):
        yield "javax.net.ssl.trustStore", str(write_trust_store(Path(bundle)))
        yield "javax.net.ssl.trustStoreType", "PKCS12"
        yield "javax.net.ssl.trustStorePassword", STORE_PASSWORD


def write_trust_store(bundle: Path) -> Path:
    """Return a PKCS#12 trust store with the certificates of *bundle*, beside it; made when the bundle has changed.

    Certificates that cannot be read are left out, as TLS libraries do.

    Raises: OSError.
    """
    content = bundle.read_bytes()
    store = bundle.with_name(f"java-{hashlib.sha256(content).hexdigest()[:16]}.p12")
    if store.is_file():
        return store
    draft = store.with_name(store.name + ".new")
    draft.write_bytes(_trust_store(content))
    draft.replace(store)
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
        with warnings.catch_warnings(action="ignore"), suppress(ValueError):  # of authorities with odd numbers
            certificate = x509.load_pem_x509_certificate(piece[piece.index(b"-----BEGIN") :] + end)
            trusted.setdefault(certificate.tbs_certificate_bytes, PKCS12Certificate(certificate, b"ca%d" % number))
    return serialize_java_truststore(list(trusted.values()), BestAvailableEncryption(STORE_PASSWORD.encode()))
