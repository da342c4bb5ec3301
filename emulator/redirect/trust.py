"""The certificate bundle of redirected processes: the emulator's own authority and all that were trusted before.

The bundle replaces what a process would have read, so it must hold the ordinary authorities too; other https calls of
the process would fail otherwise. The system's own trust store is never touched.
"""

import importlib.util
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "ALIBABA_CLOUD_CA_BUNDLE")
"""What clients of different languages and libraries read; each may already point somewhere."""

_PIECE = 64 * 1024


def write_bundle(authority: Path, bundle: Path, environ: Mapping[str, str]) -> None:
    """Write *bundle*: the file *authority*, and everything that *environ* and this Python installation trust.

    Reads files of some hundred kilobytes: not for the event loop.

    Raises: OSError.
    """
    draft = bundle.with_name(bundle.name + ".new")
    with draft.open("wb") as target:
        for path in dict.fromkeys([authority, *(trusted.resolve() for trusted in _trusted(environ))]):
            with path.open("rb") as source:
                while piece := source.read(_PIECE):  # the server stays small: never a whole bundle in memory
                    target.write(piece)
            target.write(b"\n")
    draft.replace(bundle)


def _trusted(environ: Mapping[str, str]) -> Iterator[Path]:
    named = [Path(environ[name]) for name in VARIABLES if environ.get(name)]
    system = ssl.get_default_verify_paths().cafile
    if system is not None:
        named.append(Path(system))
    certifi = importlib.util.find_spec("certifi")
    if certifi is not None and certifi.origin is not None:
        named.append(Path(certifi.origin).with_name("cacert.pem"))
    return (path for path in named if path.is_file())
