"""Temporary keys: issued for the session of a role, and looked up, even expired ones, for signed requests.

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
"""The duration of a session in seconds; 43,200 is the most that a role can allow."""

SESSION_NAME_LENGTH = Range(2, 64, 2)
POLICY_LENGTH = 2_048

FUNCTION_DURATION_S = 36 * 3_600
"""The duration in seconds of the credentials in a function's context. Source: Function Compute, "Grant permissions"."""

MAX_KEYS = 50_000
"""The most temporary keys stored; when none of them has expired, new ones are refused as throttled. Assumed."""

FORGOTTEN_AT_ONCE = 500
"""How many expired keys are removed at a time to make room, which takes a few milliseconds."""

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
    """Temporary keys for signing requests, valid until ``expiration``."""

    access_key_id: str
    access_key_secret: str
    security_token: str
    expiration: Millis


def session_arn(account: AccountId, role: str, session_name: str) -> str:
    """Return the resource name of a caller that has assumed *role*."""
    return f"acs:ram::{account}:assumed-role/{role}/{session_name}"


class TemporaryKeys:
    """Issues and finds temporary keys; a `emulator.auth.signed_request.KeySource`.

    An expired key is kept until its place is needed, so that its user gets the error for expired keys. Keys in use are
    cached, because every signed request needs its key.
    """

    def __init__(self, database: Database, ids: Ids) -> None:
        self._database = database
        self._ids = ids
        self._keys: dict[str, AccessKey] = {}
        self._sessions: dict[_Session, TemporaryCredentials] = {}
        self._count = database.read("SELECT count(*) FROM sts_keys").fetchone()[0]
        database.on_rollback(self._forget)

    def find(self, key_id: str) -> AccessKey | None:
        """Return the key of an id, even an expired one; None for an unknown id."""
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
        """Create and store a key for a session of *role*, which expires *duration_s* seconds from *now*.

        *policy* is a policy document that narrows the rights of the session.

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
        """Return credentials for a session; cached ones are reused while they are valid for *good_for_s* more seconds.

        *good_for_s* is half of *duration_s* by default; it should be at least the function's time-out.

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
        """Empty the caches and count keys anew, because a transaction with new keys may be lost."""
        self._keys.clear()
        self._sessions.clear()
        self._count = self._database.read("SELECT count(*) FROM sts_keys").fetchone()[0]

    def _make_room(self, now: Millis) -> None:
        """Remove the keys that expired first.

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
