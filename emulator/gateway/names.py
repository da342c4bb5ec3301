"""Host names that lead to users' functions, known only at run time: custom domains and triggers' own names."""

from collections.abc import Callable

from emulator.gateway.hosts import HostPolicy
from emulator.http.certificates import CertificateAuthority

_FRONT = "fc"


class FunctionNames:
    """Has names answered, and certified where HTTPS is wanted (the port `HostNames` of Function Compute).

    *renew* is called when the authority has to be renewed, because a name lies outside of what it may sign for.
    """

    def __init__(self, policy: HostPolicy, authority: CertificateAuthority, renew: Callable[[], None]) -> None:
        self._policy = policy
        self._authority = authority
        self._renew = renew

    def allow(self, host: str, *, https: bool) -> None:
        """Answer *host* from now on, with *https* over TLS as well."""
        self._policy.allow(host, _FRONT)
        if https and self._authority.permit(host):
            self._renew()

    def emulates(self, host: str) -> bool:
        """Tell whether *host* (normalised) is answered here, now, and is no name of this machine."""
        return self._policy.emulates(host)

    def forget(self, host: str) -> None:
        """Answer *host* no longer; the authority goes on permitting it until the next start."""
        self._policy.forget(host)
