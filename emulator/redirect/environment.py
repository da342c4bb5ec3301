"""The environment of a command whose programs are to find the emulator at the cloud's own addresses.

The functions take an environment and return a new one, some also the names of removed variables. Only the bundle of
certificates is written to a file.
"""

import hashlib
import importlib.util
import os
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from emulator.kernel.system import drafted
from emulator.redirect import python_site

VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "ALIBABA_CLOUD_CA_BUNDLE")
"""Variables with the path of a certificate bundle, by which clients of different languages read it."""

PROXY_VARIABLES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})
"""Variables of proxies, in upper or lower case.

Several official clients ignore ``NO_PROXY``, so only removing them keeps their calls on this machine.
"""

OWN_PROXY_VARIABLES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")
"""Set to the emulator's proxy for programs without a hook. The hooks hide them from the programs they are in."""

DIRECT = ("localhost", ".localhost", "127.0.0.1", "::1", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""Added to ``NO_PROXY`` besides the user's own entries: addresses the emulator's proxy would refuse to call."""

_EMULATED = ("aliyuncs.com", "fcapp.run")

OTHER_IDENTITIES = (
    "ALIBABA_CLOUD_SECURITY_TOKEN",
    "ALIBABA_CLOUD_PROFILE",
    "ALIBABA_CLOUD_CREDENTIALS_FILE",
    "ALIBABA_CLOUD_CREDENTIALS_URI",
    "ALIBABA_CLOUD_ROLE_ARN",
    "ALIBABA_CLOUD_ROLE_SESSION_NAME",
    "ALIBABA_CLOUD_OIDC_PROVIDER_ARN",
    "ALIBABA_CLOUD_OIDC_TOKEN_FILE",
    "ALIBABA_CLOUD_ECS_METADATA",
    "OSS_SESSION_TOKEN",
)
"""Variables in which the official credential chain finds an identity other than the emulator's key."""

_REAL_KEY_PREFIX = "LTAI"
_TERRAFORM_VARIABLE = "TF_VAR_"


def write_bundle(authority: Path, bundle: Path, environ: Mapping[str, str]) -> None:
    """Write *bundle*: the file *authority*, and everything that *environ* and this Python installation trust.

    Each certificate is there once: what the system and certifi both have would cost every program that loads it twice.
    Reads files of some hundred kilobytes: not for the event loop.

    Raises: OSError.
    """
    seen: set[bytes] = set()
    with drafted(bundle) as draft, draft.open("wb") as target:
        for path in dict.fromkeys([authority, *(trusted.resolve() for trusted in _trusted(environ))]):
            with path.open("rb") as source:
                for text, certificate in _pieces(source):
                    digest = hashlib.sha256(certificate).digest()
                    if digest not in seen:
                        seen.add(digest)
                        target.write(text)
            target.write(b"\n")


def _pieces(source: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Split a file behind each certificate; yield the pieces, which together are the file, with their certificates.

    One at a time, so that the server stays small: never a whole bundle in memory.
    """
    lines: list[bytes] = []
    begin = 0
    for line in source:
        if line.startswith(b"-----BEGIN"):
            begin = len(lines)
        lines.append(line)
        if line.startswith(b"-----END"):
            yield b"".join(lines), b"".join(lines[begin:])
            lines, begin = [], 0
    text = b"".join(lines)
    yield text, text


def _trusted(environ: Mapping[str, str]) -> Iterator[Path]:
    named = [Path(environ[name]) for name in VARIABLES if environ.get(name)]
    system = ssl.get_default_verify_paths().cafile
    if system is not None:
        named.append(Path(system))
    certifi = importlib.util.find_spec("certifi")
    if certifi is not None and certifi.origin is not None:
        named.append(Path(certifi.origin).with_name("cacert.pem"))
    return (path for path in named if path.is_file())


def without_proxies(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return *environ* without proxy variables, and the names of those removed."""
    names = sorted(name for name, value in environ.items() if name.upper() in PROXY_VARIABLES and value)
    return {name: value for name, value in environ.items() if name.upper() not in PROXY_VARIABLES}, names


def without_real_keys(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return *environ* without access keys that look like the cloud's, and the names of the key ids removed.

    The secret goes with its key id: ``X_KEY_ID`` takes ``X_KEY_SECRET`` with it, ``X_ACCESS_KEY`` ``X_SECRET_KEY``.
    Other identities of the official clients' credential chain are removed in any case. Values of Terraform's variables
    stay: a file asks for each by name, also for keys that it hands to functions.
    """
    names = sorted(
        name
        for name, value in environ.items()
        if value.strip().upper().startswith(_REAL_KEY_PREFIX) and not name.startswith(_TERRAFORM_VARIABLE)
    )
    gone = {*OTHER_IDENTITIES, *names, *(secret for name in names for secret in _secrets_of(name))}
    return {name: value for name, value in environ.items() if name not in gone}, names


def _secrets_of(key_id: str) -> list[str]:
    return [key_id.removesuffix("_ID") + "_SECRET", key_id.replace("ACCESS_KEY", "SECRET_KEY").removesuffix("_ID")]


def identity(key_id: str, secret: str, account: str, region: str) -> dict[str, str]:
    """Return key, account and region in the variables of older clients, Funcraft, Terraform and the guide's scripts."""
    return {
        "ACCESS_KEY_ID": key_id,
        "ACCESS_KEY_SECRET": secret,
        "ALICLOUD_ACCESS_KEY": key_id,
        "ALICLOUD_SECRET_KEY": secret,
        "ALICLOUD_ACCOUNT_ID": account,
        "ALICLOUD_REGION": region,
        "ALIYUN_ACCESS_KEY_ID": key_id,
        "ALIYUN_ACCESS_KEY_SECRET": secret,
        "OSS_ACCESS_KEY_ID": key_id,
        "OSS_ACCESS_KEY_SECRET": secret,
        "ACCOUNT_ID": account,
        "AK_ID": key_id,
        "AK_SECRET": secret,
        "REGION": region,
    }


def without_the_cloud(no_proxy: str) -> str:
    """Return the list *no_proxy* without the cloud's hosts, whose calls have to go through the proxy."""
    kept = (entry.strip() for entry in no_proxy.split(","))
    return ",".join(entry for entry in kept if entry and not _covers_the_cloud(entry))


def _covers_the_cloud(entry: str) -> bool:
    name = entry.lower().partition(":")[0].lstrip("*.")
    return any(f".{own}".endswith(f".{name}") or f".{name}".endswith(f".{own}") or not name for own in _EMULATED)


def allowing(proxy: str, environ: Mapping[str, str], hosts: str) -> str:
    """Return the address *proxy* with a user name that also permits *hosts* and the exceptions in *environ*.

    Both are lists with commas. Many build tools do not read ``NO_PROXY``; the proxy passes calls to its hosts on for
    them.
    """
    from emulator.http.proxy import FORWARDING, forwarding_user  # imports asyncio, which most commands do not need

    exceptions = without_the_cloud(environ.get("NO_PROXY") or environ.get("no_proxy") or "")
    allowed = [entry.strip() for entry in f"{hosts},{exceptions}".split(",") if entry.strip()]
    return proxy.replace(f"//{FORWARDING}:", f"//{forwarding_user(dict.fromkeys(allowed))}:", 1)


def proxy_environment(environ: Mapping[str, str], proxy: str) -> dict[str, str]:
    """Return the variables that lead programs without a hook to *proxy*, and past it to machines nearby."""
    users = without_the_cloud(environ.get("NO_PROXY") or environ.get("no_proxy") or "")
    direct = ",".join(filter(None, (users, *DIRECT)))
    return {**dict.fromkeys(OWN_PROXY_VARIABLES, proxy), "NO_PROXY": direct, "no_proxy": direct}


def with_hooks(environ: Mapping[str, str], address: Mapping[str, str], node_hook: Path | None) -> dict[str, str]:
    """Return *environ* with the hooks added to the front of ``PYTHONPATH`` and ``NODE_OPTIONS``.

    *address* is what `hook_environment` returns; its bundle becomes that of every TLS library, and its proxy is for
    programs that take no hook, unless *environ* has one.
    """
    variables = {**environ, **address}
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(python_site()), environ.get("PYTHONPATH"))))
    if node_hook is not None:
        variables["NODE_OPTIONS"] = " ".join(
            filter(None, (f"--require {_quoted(node_hook)}", environ.get("NODE_OPTIONS")))
        )
    if bundle := address.get("LOCALYUN_CA_BUNDLE"):
        variables.update(dict.fromkeys(VARIABLES, bundle))
    if (proxy := address.get("LOCALYUN_PROXY_URL")) and not any(environ.get(name) for name in OWN_PROXY_VARIABLES):
        variables.update(proxy_environment(environ, proxy))
    return variables


def _quoted(path: Path) -> str:
    """Return *path* quoted for ``NODE_OPTIONS``."""
    return '"{}"'.format(str(path).replace("\\", "\\\\").replace('"', '\\"'))
