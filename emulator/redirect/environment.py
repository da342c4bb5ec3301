"""The environment of a command whose programs are to find the emulator at the cloud's own addresses.

Everything here is pure: an environment goes in, a new one comes out, with the names of what was taken away.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from emulator.redirect import python_site
from emulator.redirect.trust import VARIABLES as CA_VARIABLES

PROXY_VARIABLES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})
"""Read in capitals and in small letters. Several official clients ignore ``NO_PROXY``, so nothing less than taking
these away keeps their calls on this machine."""

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
"""Where the official credential chain finds somebody else than the given key."""

_REAL_KEY_PREFIX = "LTAI"


def without_proxies(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return *environ* without proxies, and the names of those there were."""
    names = sorted(name for name, value in environ.items() if name.upper() in PROXY_VARIABLES and value)
    return {name: value for name, value in environ.items() if name.upper() not in PROXY_VARIABLES}, names


def without_real_keys(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return *environ* without access keys that look like the cloud's, and the names of the key ids there were.

    The secret goes with its key id: ``X_KEY_ID`` takes ``X_KEY_SECRET`` with it, ``X_ACCESS_KEY`` ``X_SECRET_KEY``.
    Other identities of the official clients' credential chain are taken away in any case.
    """
    names = sorted(name for name, value in environ.items() if value.strip().upper().startswith(_REAL_KEY_PREFIX))
    gone = {*OTHER_IDENTITIES, *names, *(secret for name in names for secret in _secrets_of(name))}
    return {name: value for name, value in environ.items() if name not in gone}, names


def _secrets_of(key_id: str) -> list[str]:
    return [key_id.removesuffix("_ID") + "_SECRET", key_id.replace("ACCESS_KEY", "SECRET_KEY").removesuffix("_ID")]


def identity(key_id: str, secret: str, account: str, region: str) -> dict[str, str]:
    """Return who to be, under the names that older official clients and the guide's scripts read."""
    return {
        "ALIYUN_ACCESS_KEY_ID": key_id,
        "ALIYUN_ACCESS_KEY_SECRET": secret,
        "OSS_ACCESS_KEY_ID": key_id,
        "OSS_ACCESS_KEY_SECRET": secret,
        "ACCOUNT_ID": account,
        "AK_ID": key_id,
        "AK_SECRET": secret,
        "REGION": region,
    }


def with_hooks(environ: Mapping[str, str], address: Mapping[str, str], node_hook: Path | None) -> dict[str, str]:
    """Return *environ* with the hooks in front of what ``PYTHONPATH`` and ``NODE_OPTIONS`` hold.

    *address* is what `hook_environment` returns; its bundle becomes that of every TLS library.
    """
    found = {**environ, **address}
    found["PYTHONPATH"] = os.pathsep.join(filter(None, (str(python_site()), environ.get("PYTHONPATH"))))
    if node_hook is not None:
        found["NODE_OPTIONS"] = " ".join(filter(None, (f"--require {_quoted(node_hook)}", environ.get("NODE_OPTIONS"))))
    if bundle := address.get("LOCALYUN_CA_BUNDLE"):
        found.update(dict.fromkeys(CA_VARIABLES, bundle))
    return found


def _quoted(path: Path) -> str:
    """Return *path* as Node.js reads it in ``NODE_OPTIONS``."""
    return '"{}"'.format(str(path).replace("\\", "\\\\").replace('"', '\\"'))
