"""The addresses of an emulator, and the variables by which programs and function instances find it."""

from pathlib import Path
from typing import Protocol

from emulator.http.proxy import FORWARDING
from emulator.keyfile import InstallationKeys
from emulator.redirect import hook_environment


class Ports(Protocol):
    """The ports that a server listens on."""

    @property
    def port(self) -> int:
        """The port for HTTP."""
        ...

    @property
    def https_port(self) -> int:
        """The port for HTTPS, which is the proxy's too."""
        ...


class Addresses:
    """The addresses of an emulator that listens.

    *secret* is the password of the proxy, *state* the state folder as configured, *certificates* the folder of the
    private authority.
    """

    def __init__(self, ports: Ports, secret: str, keys: InstallationKeys, state: Path, certificates: Path) -> None:
        self._ports = ports
        self._secret = secret
        self._keys = keys
        self._state = state.absolute()
        self.authority = certificates / "ca.pem"
        """The authority's own certificate."""
        self.bundle = (certificates / "bundle.pem").absolute()
        """The certificates of all authorities that programs have to trust."""

    @property
    def http(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self._ports.port}"

    @property
    def https(self) -> str:
        """``https://127.0.0.1:PORT``."""
        return f"https://127.0.0.1:{self._ports.https_port}"

    def proxy(self, user: str) -> str:
        """Return the URL of the proxy for *user*, the user name that says which hosts may be called."""
        return f"http://{user}:{self._secret}@127.0.0.1:{self._ports.https_port}"

    def surroundings(self) -> dict[str, str]:
        """Return the variables that lead a command to this emulator."""
        return {
            "LOCALYUN_ENDPOINT": self.http,
            "LOCALYUN_STATE": str(self._state),
            "LOCALYUN_TOKEN": self._keys.admin_token,
            "LOCALYUN_ACCOUNT_ID": self._keys.tenant.account,
            "LOCALYUN_REGION": self._keys.tenant.region,
            "ALIBABA_CLOUD_ACCESS_KEY_ID": self._keys.access_key_id,
            "ALIBABA_CLOUD_ACCESS_KEY_SECRET": self._keys.access_key_secret,
        }

    def environment(self) -> dict[str, str]:
        """Return the variables about this emulator for function instances."""
        hooks = hook_environment(self._ports.port, self._ports.https_port, self.bundle, self.proxy(FORWARDING))
        return {
            "LOCALYUN_ENDPOINT": self.http,
            "LOCALYUN_REGION": self._keys.tenant.region,
            "LOCALYUN_ACCOUNT_ID": self._keys.tenant.account,
            **hooks,
        }
