"""Who is calling, and in whose tenant: found out by authentication, used by every operation."""

from typing import NamedTuple, NewType

from emulator.kernel.frozen import frozen

AccountId = NewType("AccountId", str)
Region = NewType("Region", str)

ACCOUNT_DIGITS = 32
"""The longest id of an account."""

REGION_SUFFIX = ".region.localhost"
"""``cn-shanghai.region.localhost`` is this machine in that region, for clients whose endpoint names nothing else."""

FUNCTION_SUFFIX = ".fc.localhost"
"""``hello.fc.localhost`` is the function ``hello`` on this machine, and nothing else is reached by that name."""


def is_account(text: str) -> bool:
    """Whether *text* can be the id of an account."""
    return text.isascii() and text.isdigit() and len(text) <= ACCOUNT_DIGITS


class Tenant(NamedTuple):
    """An account's resources in one region; every table carries both."""

    account: AccountId
    region: Region


@frozen(kw_only=False)
class Principal:
    """The caller of one request.

    ``arn`` is ``acs:ram::{account}:root``, ``...:user/{name}`` or ``...:assumed-role/{role}/{session}``.
    ``access_key_id`` is empty for an unsigned request. ``session_policy`` is the document that narrows what a temporary
    key may do, empty when there is none.
    """

    account: AccountId
    access_key_id: str
    arn: str
    temporary: bool = False
    session_policy: str = ""


@frozen(kw_only=False)
class Demand:
    """A right that a call needs: ``fc:InvokeFunction`` on ``acs:fc:cn-hangzhou:123:services/s/functions/f``.

    ``resource`` is what a denial names; ``aliases`` are further names that policies may know the same thing by.
    ``facts`` are condition keys of this right alone, as pairs of key and value.
    """

    action: str
    resource: str
    aliases: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


def pass_role(account: str, role: str, service: str) -> Demand:
    """Return the right that a caller needs to give *role* to a resource of a cloud *service* (``ram:PassRole``).

    *role* is a name or an ARN; an ARN of another account is read as the role of that name in *account*.
    """
    name = role.rpartition("/")[2]
    return Demand("ram:PassRole", f"acs:ram::{account}:role/{name}", (), (("acs:Service", service),))


def default_resource_group(account: str) -> str:
    """Return the id of the account's default resource group. Source: assumed, in the form of the vendor's examples."""
    return "rg-acfm" + stable_id("resource-group", account, "default")[:11]


def stable_id(kind: str, account: str, name: str) -> str:
    """Return the id of a role or user: eighteen digits, the same whenever it is asked for."""
    import hashlib  # loads OpenSSL, which commands without signatures do not need

    digest = hashlib.sha256(f"{kind}\n{account}\n{name}".encode("utf-8", "replace")).digest()
    return f"3{int.from_bytes(digest[:8], 'big') % 10**17:017d}"
