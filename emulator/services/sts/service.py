"""Temporary keys: issued for a role's session, looked up when a request is signed with one, expired or not.

The limits and errors of the security token service are here too; errors are answered in the RPC gateway's form.
Source: the service's error code table.
"""

from binascii import b2a_base64
from collections.abc import Mapping
from pathlib import Path

from emulator.auth.signed_request import AccessKey
from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.errors import ErrorRow
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Range
from emulator.storage.database import Database
from emulator.storage.migration import Schema
from emulator.wire.rpc import PopError

DURATION_S = Range(900, 43_200, 3_600)
"""How long assumed credentials may last. 43,200 is the most a role can be set to allow."""

SESSION_NAME_LENGTH = Range(2, 64, 2)
POLICY_LENGTH = 2_048

FUNCTION_DURATION_S = 36 * 3_600
"""How long the credentials in a function's context last. Source: Function Compute, "Grant permissions"."""

MAX_KEYS = 50_000
"""Temporary keys kept at most; with as many alive, more are refused as throttled. Assumed: a guard of this emulator."""

FORGOTTEN_AT_ONCE = 500
"""How many expired keys make room for new ones; that takes a few milliseconds."""

CACHED_KEYS = 2_048
CACHED_SESSIONS = 2_048

SCHEMA = Schema("sts", Path(__file__).parent / "schema")

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

_Session = tuple[AccountId, str, str]

ERRORS: Mapping[str, ErrorRow] = {
    # the gateway's pattern for mandatory parameters
    "MissingRoleArn": ErrorRow(400, "RoleArn is mandatory for this action."),
    "MissingRoleSessionName": ErrorRow(400, "RoleSessionName is mandatory for this action."),
    "InvalidParameter.RoleArn": ErrorRow(400, "The parameter RoleArn is wrongly formed."),
    "InvalidParameter.RoleSessionName": ErrorRow(400, "The parameter RoleSessionName is wrongly formed."),
    # fields: ``low`` and ``high`` in seconds
    "InvalidParameter.DurationSeconds": ErrorRow(
        400, "The parameter DurationSeconds must be between {low} and {high}."
    ),
    "InvalidParameter.PolicyGrammar": ErrorRow(400, "The parameter Policy has not passed grammar check."),
    "EntityNotExist.Role": ErrorRow(404, "The specified Role not exists: {arn}."),
    # more temporary keys are alive than the emulator keeps
    "TooManyKeys": ErrorRow(400, "Request was denied due to user flow control.", "Throttling.User"),
}


class StsError(PopError):
    """An error of the security token service."""

    table = ERRORS


@frozen
class TemporaryCredentials:
    """What the caller of AssumeRole, or a function, signs with until ``expiration``."""

    access_key_id: str
    access_key_secret: str
    security_token: str
    expiration: Millis


def session_arn(account: AccountId, role: str, session_name: str) -> str:
    """Return the identity of a caller that has assumed *role*."""
    return f"acs:ram::{account}:assumed-role/{role}/{session_name}"


class TemporaryKeys:
    """Issues and finds temporary keys; a `emulator.auth.signed_request.KeySource`.

    An expired key stays known until its place is needed, so that its user learns that it has expired, however long ago.
    Keys in use are kept in memory, because every request signed with one asks for it.
    """

    def __init__(self, database: Database, ids: Ids) -> None:
        self._database = database
        self._ids = ids
        self._keys: dict[str, AccessKey] = {}
        self._sessions: dict[_Session, TemporaryCredentials] = {}
        self._count = database.read("SELECT count(*) FROM sts_keys").fetchone()[0]
        database.on_rollback(self._forget)

    def find(self, key_id: str) -> AccessKey | None:
        """Return the key of that id, expired or not; None when there never was one."""
        key = self._keys.get(key_id)
        if key is not None or not key_id.startswith("STS."):
            return key
        row = self._database.read(
            "SELECT account, secret, token, arn, expires_at, policy FROM sts_keys WHERE key_id = ?", (key_id,)
        ).fetchone()
        if row is None:
            return None
        account, secret, token, arn, expires_at, policy = row
        key = AccessKey(
            key_id=key_id,
            account=AccountId(account),
            secret=secret,
            token=token,
            arn=arn,
            expires_at=Millis(expires_at),
            policy=policy,
        )
        return self._cache(key)

    def issue(
        self, account: AccountId, role: str, session_name: str, duration_s: int, now: Millis, *, policy: str = ""
    ) -> TemporaryCredentials:
        """Make a new key for a session of *role* that expires *duration_s* seconds from *now*; stored.

        *policy* is a document that narrows what the session may do.

        Raises: StsError: TooManyKeys.
        """
        if self._count >= MAX_KEYS:
            self._make_room(now)
        credentials = TemporaryCredentials(
            access_key_id="STS." + self._letters(25),
            access_key_secret=self._letters(44),
            security_token="CAIS" + self._token_text(),
            expiration=Millis(now + duration_s * SECOND),
        )
        key = AccessKey(
            key_id=credentials.access_key_id,
            account=account,
            secret=credentials.access_key_secret,
            token=credentials.security_token,
            arn=session_arn(account, role, session_name),
            expires_at=credentials.expiration,
            policy=policy,
        )
        self._database.write(
            "INSERT INTO sts_keys (key_id, account, secret, token, arn, expires_at, policy)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key.key_id, account, key.secret, key.token, key.arn, key.expires_at, policy),
        )
        self._count += 1
        self._cache(key)
        return credentials

    def for_role(
        self,
        account: AccountId,
        role: str,
        session_name: str,
        now: Millis,
        *,
        duration_s: int = FUNCTION_DURATION_S,
        good_for_s: int | None = None,
    ) -> TemporaryCredentials:
        """Return credentials of a session, the same as last time while they still last *good_for_s* seconds.

        Without *good_for_s* that is half of *duration_s*. Ask for at least as long as the function may run.

        Raises: StsError: TooManyKeys.
        """
        margin_s = duration_s // 2 if good_for_s is None else min(good_for_s, duration_s)
        session = (account, role, session_name)
        known = self._sessions.pop(session, None)
        if known is None or known.expiration - now < margin_s * SECOND:
            known = self.issue(account, role, session_name, duration_s, now)
        self._sessions[session] = known  # put last: the first is the one longest unused
        if len(self._sessions) > CACHED_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return known

    def _cache(self, key: AccessKey) -> AccessKey:
        self._keys[key.key_id] = key
        if len(self._keys) > CACHED_KEYS:
            del self._keys[next(iter(self._keys))]
        return key

    def _forget(self) -> None:
        """The transaction that may have held new keys is lost."""
        self._keys.clear()
        self._sessions.clear()
        self._count = self._database.read("SELECT count(*) FROM sts_keys").fetchone()[0]

    def _make_room(self, now: Millis) -> None:
        """Forget the keys that expired first.

        Raises: StsError: TooManyKeys when none has expired.
        """
        expired = "SELECT key_id FROM sts_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?"
        forgotten = [row[0] for row in self._database.read(expired, (now, FORGOTTEN_AT_ONCE))]
        if not forgotten:
            raise StsError("TooManyKeys")
        for key_id in forgotten:
            self._database.write("DELETE FROM sts_keys WHERE key_id = ?", (key_id,))
            self._keys.pop(key_id, None)
        self._count -= len(forgotten)

    def _letters(self, count: int) -> str:
        """Return *count* random letters and digits."""
        number = int.from_bytes(self._ids.secret(count), "big")
        text = ""
        for _ in range(count):
            number, index = divmod(number, len(_ALPHABET))
            text += _ALPHABET[index]
        return text

    def _token_text(self) -> str:
        return b2a_base64(self._ids.secret(255), newline=False).decode("ascii")
