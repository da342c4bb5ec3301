"""Temporary keys for the roles that functions act in."""

from emulator.kernel.clock import Clock
from emulator.kernel.identity import AccountId
from emulator.services.fc.runtime.instance import Credentials
from emulator.services.sts.service import TemporaryKeys

DEFAULT_ROLE = "AliyunFcDefaultRole"
"""The role of functions that name none."""


class RoleKeys:
    """Gives functions the temporary keys of their role (the port `CredentialIssuer`)."""

    def __init__(self, temporary: TemporaryKeys, clock: Clock) -> None:
        self._temporary = temporary
        self._clock = clock

    def for_role(self, account: AccountId, role_arn: str, session: str) -> Credentials:
        """Return keys of *role_arn*; a function without a role acts as the default one."""
        role = role_arn.rpartition("/")[2] or DEFAULT_ROLE
        keys = self._temporary.for_role(account, role, session, self._clock.now())
        return Credentials(
            access_key_id=keys.access_key_id,
            access_key_secret=keys.access_key_secret,
            security_token=keys.security_token,
        )
