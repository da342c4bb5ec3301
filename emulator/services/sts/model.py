"""Roles, sessions and the keys made for them."""

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId


@frozen
class TemporaryCredentials:
    """What the caller of AssumeRole, or a function, signs with until ``expiration``."""

    access_key_id: str
    access_key_secret: str
    security_token: str
    expiration: Millis


@frozen
class AssumeRole:
    """A checked AssumeRole request; ``policy`` is the document that narrows the session, empty when there is none."""

    account: AccountId
    role: str
    role_arn: str
    session_name: str
    duration_s: int
    policy: str = ""


def session_arn(account: AccountId, role: str, session_name: str) -> str:
    """Return the identity of somebody who has assumed *role*."""
    return f"acs:ram::{account}:assumed-role/{role}/{session_name}"
