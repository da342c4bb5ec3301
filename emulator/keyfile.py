"""The identity of an installation: access key, account, region and admin token, in ``<state>/keys.json``.

The file is generated at the first start and readable by its owner only. Values in the configuration take precedence
over the file and are never written to it.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.config import DEFAULT_REGION, Config
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import ACCOUNT_DIGITS, AccountId, Region, Tenant, is_account
from emulator.kernel.phrases import Phrase, phrase
from emulator.kernel.system import write_private

if TYPE_CHECKING:
    from emulator.auth.signed_request import AccessKey
    from emulator.kernel.ids import Ids

FILE_NAME = "keys.json"


class KeyFileDamaged(Exception):
    """The file exists but cannot be used."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        super().__init__(
            Phrase(
                "{path} cannot be used: {problem}. Repair it, or delete it to get new keys; with a new account id the "
                "resources made so far are no longer seen.",
                path=path,
                problem=phrase(problem),
            )
        )


@frozen
class InstallationKeys:
    """An installation's identity. ``account_id`` is digits, 16 if generated; ``admin_token`` opens the admin API."""

    access_key_id: str
    access_key_secret: str
    account_id: str
    region: str
    admin_token: str

    @property
    def tenant(self) -> Tenant:
        """The installation's own account in its own region."""
        return Tenant(AccountId(self.account_id), Region(self.region))

    @property
    def root(self) -> "AccessKey":
        """The key of the account itself."""
        from emulator.auth.signed_request import AccessKey  # loads what signs; half of the commands sign nothing

        account = self.tenant.account
        arn = f"acs:ram::{account}:root"
        return AccessKey(key_id=self.access_key_id, secret=self.access_key_secret, account=account, arn=arn)

    @property
    def installation(self) -> str:
        """A public id, the same as long as the state folder keeps its token; "" without a token."""
        if not self.admin_token:
            return ""
        import hashlib  # loads OpenSSL; most commands do not need it

        return hashlib.sha256(b"localyun installation " + self.admin_token.encode()).hexdigest()[:16]


def load(config: Config) -> InstallationKeys | None:
    """Read the file of ``config.state``; None when the folder has none yet.

    Raises: KeyFileDamaged; OSError when it may not be read.
    """
    path = config.state / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise KeyFileDamaged(path, "it is not text") from error
    return _laid_over(_parse(path, text), config)


def load_or_create(config: Config, ids: "Ids") -> InstallationKeys:
    """Read the file of ``config.state``, which must exist, and generate it first when there is none.

    Raises: KeyFileDamaged; OSError when the file cannot be read or written.
    """
    found = load(config)
    if found is not None:
        return found
    made = InstallationKeys(
        access_key_id="LYUN" + ids.secret(10).hex().upper(),
        access_key_secret=ids.secret(20).hex(),
        account_id=_account_from(bytes.fromhex(ids.hex(16))),
        region=DEFAULT_REGION,
        admin_token=ids.secret(24).hex(),
    )
    text = json.dumps(
        {
            "accessKeyId": made.access_key_id,
            "accessKeySecret": made.access_key_secret,
            "accountId": made.account_id,
            "region": made.region,
            "adminToken": made.admin_token,
        },
        indent=2,
    )
    write_private(config.state / FILE_NAME, text.encode() + b"\n")
    return _laid_over(made, config)


def _account_from(seed: bytes) -> str:
    """Return 16 digits, the first of them 1 as in account ids of the cloud."""
    return f"1{int.from_bytes(seed, 'big') % 10**15:015d}"


def _laid_over(keys: InstallationKeys, config: Config) -> InstallationKeys:
    return InstallationKeys(
        access_key_id=config.access_key_id or keys.access_key_id,
        access_key_secret=config.access_key_secret or keys.access_key_secret,
        account_id=config.account_id or keys.account_id,
        region=config.region or keys.region,
        admin_token=keys.admin_token,
    )


def _parse(path: Path, text: str) -> InstallationKeys:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise KeyFileDamaged(path, "it is not JSON") from error
    if not isinstance(content, dict):
        raise KeyFileDamaged(path, "it is not a JSON object")
    for name in ("accessKeyId", "accessKeySecret", "accountId", "region", "adminToken"):
        value = content.get(name)
        if not isinstance(value, str) or not value:
            raise KeyFileDamaged(path, Phrase("{name} is missing", name=name))
    if content["accessKeyId"].upper().startswith("LTAI"):
        raise KeyFileDamaged(path, "accessKeyId looks like a real cloud access key (they start with LTAI)")
    if not is_account(content["accountId"]):
        raise KeyFileDamaged(path, Phrase("accountId must be 1 to {most} digits", most=ACCOUNT_DIGITS))
    return InstallationKeys(
        access_key_id=content["accessKeyId"],
        access_key_secret=content["accessKeySecret"],
        account_id=content["accountId"],
        region=content["region"],
        admin_token=content["adminToken"],
    )
