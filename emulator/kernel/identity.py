"""Who is calling, and in whose world: found out by authentication, used by every operation."""

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
    ``access_key_id`` is empty for an unsigned request.
    """

    account: AccountId
    access_key_id: str
    arn: str
    temporary: bool = False
