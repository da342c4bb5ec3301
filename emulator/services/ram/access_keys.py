"""Operations on the access keys of users.

Source: RAM API reference, one page for each operation.
"""

from emulator.kernel.frozen import replace
from emulator.services.ram import codec, limits
from emulator.services.ram.errors import (
    RamError,
    existing,
    limit_exceeded,
)
from emulator.services.ram.model import KEY_PREFIX, User, UserKey
from emulator.services.ram.service import AccessManagement
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply

_USER = ":user/"


@operation("CreateAccessKey")
def create_access_key(access: AccessManagement, call: OperationRequest) -> Reply:
    """Create an access key for a user; no other operation returns its secret.

    Raises: RamError: EntityNotExist.User, LimitExceeded.User.AccessKey.
    Source: RAM API reference, CreateAccessKey.
    """
    account, name = call.tenant.account, _owner_of_keys(call)
    access.entity(User, account, name)
    if len(access.store.keys(account, name)) >= limits.ACCESS_KEYS:
        raise limit_exceeded("User.AccessKey", "access keys of the user")
    key = UserKey(
        key_id=KEY_PREFIX + access.ids.hex(20).upper(),
        user=name,
        secret=access.ids.hex(40),
        active=True,
        created_at=call.now,
    )
    access.store.put_key(account, key)
    return {"AccessKey": {**codec.render_key(key), "AccessKeySecret": key.secret}}


@operation("ListAccessKeys")
def list_access_keys(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a user's keys, oldest first.

    Raises: RamError: EntityNotExist.User.
    Source: RAM API reference, ListAccessKeys.
    """
    account, name = call.tenant.account, _owner_of_keys(call)
    access.entity(User, account, name)
    return {"AccessKeys": {"AccessKey": [codec.render_key(key) for key in access.store.keys(account, name)]}}


@operation("UpdateAccessKey")
def update_access_key(access: AccessManagement, call: OperationRequest) -> Reply:
    """Switch a key on or off.

    Raises: RamError: a parameter's, EntityNotExist.User, EntityNotExist.User.AccessKey.
    Source: RAM API reference, UpdateAccessKey.
    """
    key_id = codec.required(call.parameters, "UserAccessKeyId")
    status = codec.required(call.parameters, "Status")
    if status not in {"Active", "Inactive"}:
        raise RamError("InvalidParameter", name="Status")
    key = _existing_key(access, call, key_id)
    access.store.put_key(call.tenant.account, replace(key, active=status == "Active"))
    return {}


@operation("DeleteAccessKey")
def delete_access_key(access: AccessManagement, call: OperationRequest) -> Reply:
    """Delete a key.

    Raises: RamError: EntityNotExist.User, EntityNotExist.User.AccessKey.
    Source: RAM API reference, DeleteAccessKey.
    """
    key_id = codec.required(call.parameters, "UserAccessKeyId")
    access.store.delete_key(_existing_key(access, call, key_id).key_id)
    return {}


def _existing_key(access: AccessManagement, call: OperationRequest, key_id: str) -> UserKey:
    account, name = call.tenant.account, _owner_of_keys(call)
    access.entity(User, account, name)
    keys = {key.key_id: key for key in access.store.keys(account, name)}
    return existing(keys.get(key_id), "User.AccessKey", key_id)


def _owner_of_keys(call: OperationRequest) -> str:
    """Return whose keys the request is about: the user it names, else its caller.

    Raises: RamError: MissingUserName for the account itself, whose keys are those of the installation.
    """
    if call.parameters.get("UserName"):
        return codec.entity_name(call.parameters, "UserName")
    arn = call.principal.arn if call.principal else ""
    if _USER not in arn:
        raise RamError("Missing", name="UserName")
    return arn.partition(_USER)[2]
