"""Who is calling, and in whose world: found out by authentication, used by every operation."""

import hashlib
from typing import NewType

from emulator.kernel.frozen import frozen

AccountId = NewType("AccountId", str)
Region = NewType("Region", str)


@frozen(kw_only=False)
class World:
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


def stable_id(kind: str, account: str, name: str) -> str:
    """Return the id of a role or user: eighteen digits, the same whenever it is asked for."""
    digest = hashlib.sha256(f"{kind}\n{account}\n{name}".encode("utf-8", "replace")).digest()
    return f"3{int.from_bytes(digest[:8], 'big') % 10**17:017d}"
