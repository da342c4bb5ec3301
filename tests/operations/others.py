"""Operations that no client of `tests.operations.recording` has: admin API, RAM, STS and OSS, by their own tables."""

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from emulator.app import Emulator
from tests.operations.recording import Operation

ENDS_IT = "POST /stop"

_ADMIN: dict[str, Any] = {
    "POST /purge-queue": {"queue": "q"},
    "GET /messages": {"queue": "q"},
    "POST /move-messages": {"queue": "q", "to": "other"},
    "POST /reset": {"queue": "q"},
    "DELETE /accounts/{account}": {"account": "9999"},
    "POST /accounts": {"accountId": "9999"},
    "GET /trigger-event": {"function": "s/f", "trigger": "t"},
    "POST /fire-trigger": {"function": "s/f", "trigger": "t"},
    "POST /call-later": {"function": "s/f"},
    "POST /redeliver": {"topic": "t", "subscription": "sub", "message": "none"},
    "POST /flows/step": {"definition": "version: v1\ntype: flow\nsteps: [{type: pass, name: a}]\n", "step": "a"},
    "POST /flows/{flow}/debug": {"flow": "flow"},
    "POST /flows/{flow}/executions/{execution}/debug": {"flow": "flow", "execution": "run"},
    "POST /flows/{flow}/executions/{execution}/debug/{action}": {"flow": "flow", "execution": "run", "action": "run"},
    "POST /flows/{flow}/executions/{execution}/fork": {"flow": "flow", "execution": "run", "before": "one"},
    "POST /clock": {"advance": "1s"},
    "POST /settle": {"timeout": "2s"},
    "POST /skip": {"until": {"queue": "q", "visible": 1}, "limit": "1m", "timeout": "2s"},
    "POST /faults": {"match": {"operation": "NoSuch"}, "do": {"delay": "1ms"}},
    "POST /mocks": {"function": "s/mocked", "answers": [{"return": 1}]},
    "POST /debug": {"function": "s/none", "wait": False, "port": 0},
    "POST /checkpoints/{name}": {"name": "kept"},
    "POST /checkpoints/{name}/restore": {"name": "kept"},
}
"""What is sent to the operations that do something only when they are asked well."""

_NAMES = {"name": "kept", "flow": "flow", "execution": "run", "service": "s", "function": "f", "account": "9999"}


def admin_operations(emulator: Emulator) -> list[Operation]:
    """Return every operation of the admin API but the one that ends the emulator, those that make things first."""
    found = [_admin_operation(each) for each in emulator._admin.operations if each.route != ENDS_IT]
    return sorted(found, key=lambda each: (each.method == "DELETE", "restore" in each.path))


def _admin_operation(each: Any) -> Operation:
    method, _, path = each.route.partition(" ")
    given = dict(_ADMIN.get(each.route, {}))
    for name in [part.strip("{}") for part in path.split("/") if part.startswith("{")]:
        path = path.replace(f"{{{name}}}", quote(str(given.pop(name, _NAMES.get(name, "none")))))
    query, body = (given, None) if method != "POST" else ({}, given)
    return Operation("admin", each.name, "admin", "", method, f"/_localyun{path}", query, {}, body, "json")


_RIGHTS = '{"Version": "1", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
_TRUST = (
    '{"Version": "1", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",'
    ' "Principal": {"Service": ["fc.aliyuncs.com"]}}]}'
)
_RPC = {
    "UserName": "u", "NewUserName": "u", "RoleName": "r", "GroupName": "g", "NewGroupName": "g", "PolicyName": "p",
    "PolicyType": "Custom", "PolicyDocument": _RIGHTS, "NewPolicyDocument": _TRUST,
    "AssumeRolePolicyDocument": _TRUST, "VersionId": "v1", "ResourceType": "user", "ResourceNames.1": "u",
    "Tag.1.Key": "k", "Tag.1.Value": "v", "TagKey.1": "k", "AccountAlias": "alias", "Status": "Active",
    "UserAccessKeyId": "none", "RoleArn": "acs:ram::1234567890123456:role/r", "RoleSessionName": "me",
}  # fmt: skip


def access_operations(emulator: Emulator) -> list[Operation]:
    """Return every operation of RAM and STS, those that make things first."""
    fronts = emulator._entrance.fronts
    found = [
        Operation(name, each.name, "rpc", fronts[name].version, "POST", "/", dict(_RPC), {}, None, "form")
        for name in ("ram", "sts")
        for each in fronts[name].operations
    ]
    return sorted(
        found, key=lambda each: (each.name.startswith(("Delete", "Detach", "Remove")), each.name[:3] != "Cre")
    )


def object_operations() -> list[Operation]:
    """Return one of each kind of request to OSS."""
    rows: Iterable[tuple[str, str, str, bytes]] = (
        ("PutBucket", "PUT", "/bucket", b""),
        ("PutObject", "PUT", "/bucket/key", b"content"),
        ("AppendObject", "POST", "/bucket/grown?append&position=0", b"content"),
        ("PutObjectACL", "PUT", "/bucket/key?acl", b""),
        ("PutObjectTagging", "PUT", "/bucket/key?tagging", b"<Tagging><TagSet></TagSet></Tagging>"),
        ("GetObject", "GET", "/bucket/key", b""),
        ("HeadObject", "HEAD", "/bucket/key", b""),
        ("ListObjects", "GET", "/bucket", b""),
        ("ListBuckets", "GET", "/", b""),
        ("InitiateMultipartUpload", "POST", "/bucket/large?uploads", b""),
        ("ListMultipartUploads", "GET", "/bucket?uploads", b""),
        ("DeleteMultipleObjects", "POST", "/bucket?delete", b"<Delete><Object><Key>key</Key></Object></Delete>"),
        ("DeleteObject", "DELETE", "/bucket/grown", b""),
        ("DeleteBucket", "DELETE", "/bucket", b""),
    )
    return list(_objects(rows))


def _objects(rows: Iterable[tuple[str, str, str, bytes]]) -> Iterator[Operation]:
    for name, method, target, body in rows:
        path, _, items = target.partition("?")
        query = dict(item.partition("=")[::2] for item in items.split("&") if item)
        yield Operation("oss", name, "oss", "", method, path, query, {}, body, "bytes")
