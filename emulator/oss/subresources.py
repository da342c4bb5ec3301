"""The names in a query that say which operation a request is, and those that only say more about it.

Source: OSS API reference.
"""

from collections.abc import Iterable

from emulator.auth.oss import SUBRESOURCES

_PARAMETERS = frozenset(
    """security-token continuation-token partNumber position sequential response-content-type response-content-language
    response-cache-control response-content-encoding response-expires response-content-disposition x-oss-traffic-limit
    x-oss-request-payer x-oss-ac-source-ip x-oss-ac-subnet-mask x-oss-ac-vpc-id x-oss-ac-forward-allow""".split()  # noqa: SIM905 - as in auth.oss
)
"""Names that are signed like subresources and choose nothing."""


def choosing(names: Iterable[str]) -> list[str]:
    """Return those of the *names* of a query that choose an operation, in order."""
    return [name for name in names if name in SUBRESOURCES and name not in _PARAMETERS]
