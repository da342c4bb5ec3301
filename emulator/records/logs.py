"""Projects and stores of Log Service, spoken REST with the project in the host name: created, shown, deleted.

The front writes the project before the path, ``-`` where the host names none. No log lines are stored or returned:
functions write theirs to the emulator's own log.

Source: API reference of Log Service (2020-12-30); terraform-provider-alicloud and aliyun-log-go-sdk for the members
that clients read.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from emulator.http.message import Response
from emulator.kernel.errors import ErrorRow, ServiceError
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant, default_resource_group
from emulator.records.model import LOGSTORE, PROJECT, Record
from emulator.records.store import RecordStore
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest

ERRORS: Mapping[str, ErrorRow] = {
    "InternalServerError": ErrorRow(500, "Internal server error."),
    "NotServed": ErrorRow(
        400, "{method} {path} of Log Service is not served by this emulator.", "OperationNotSupported"
    ),
    "Strict": ErrorRow(400, "Log Service is not emulated, and --strict refuses its records.", "OperationNotSupported"),
    "PostBodyInvalid": ErrorRow(400, "The body is not a JSON object."),
    "PostBodyTooLarge": ErrorRow(400, "Body size must little than {limit}."),
    "ParameterInvalid": ErrorRow(400, "{name} is missing or of another type."),
    "ProjectNotExist": ErrorRow(404, "The Project does not exist : {name}"),
    "ProjectAlreadyExist": ErrorRow(400, "Project {name} already exists."),
    "LogStoreNotExist": ErrorRow(404, "logstore {name} does not exist"),
    "LogStoreAlreadyExist": ErrorRow(400, "logstore {name} already exists"),
    "Unauthorized": ErrorRow(401, "{reason}"),
    "SignatureNotMatch": ErrorRow(403, "The signature does not match: {reason}"),
    "RequestTimeExpired": ErrorRow(400, "Request time exceeds server time by more than 15 minutes."),
}
"""Source: Log Service "Common error codes"; what is refused by the emulator alone is not in the cloud."""

_PROJECT, _STORE = "LogProject", "LogStore"
_MOST_SHARDS = 100


class LogError(ServiceError):
    """An error of Log Service."""

    table = ERRORS


def answer(content: Any, status: int = 200, request: str = "") -> Response:
    """Return an answer in JSON, without a body where there is no *content*."""
    body = b"" if content is None else json.dumps(content).encode()
    headers = [("Content-Type", "application/json")]
    return Response(status, body, headers + ([("x-log-requestid", request)] if request else []))


def _answer(call: OperationRequest, content: Any = None) -> Response:
    return answer(content, request=call.request_id)


def _body(call: OperationRequest) -> dict[str, Any]:
    try:
        content = json.loads(call.http.body or b"{}")
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise LogError("PostBodyInvalid")
    return content


def _required(content: Mapping[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str) or not value:
        raise LogError("ParameterInvalid", name=name)
    return value


def _chosen(content: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in a body for *attributes*; each needs the type of its default.

    Raises: ParameterInvalid.
    """
    chosen = {name: content[name] for name in attributes if content.get(name) not in (None, "")}
    for name, value in chosen.items():
        if not isinstance(value, type(attributes[name])):
            raise LogError("ParameterInvalid", name=name)
    return chosen


def _project(store: RecordStore, call: OperationRequest) -> Record:
    name = call.path["project"]
    record = store.find(call.tenant, _PROJECT, name)
    if record is None:
        raise LogError("ProjectNotExist", name=name)
    return record


def _logstore(store: RecordStore, call: OperationRequest) -> Record:
    project, name = _project(store, call), call.path["logstore"]
    record = store.find(call.tenant, _STORE, name, project.name)
    if record is None:
        raise LogError("LogStoreNotExist", name=name)
    return record


def _shown_project(tenant: Tenant, record: Record) -> dict[str, Any]:
    created = str(record.created_at // 1000)
    return {
        "projectName": record.name, "status": "Normal", "owner": tenant.account, "region": tenant.region,
        **PROJECT, "resourceGroupId": default_resource_group(tenant.account), **record.content,
        "createTime": created, "lastModifyTime": created,
    }  # fmt: skip


def _shown_store(record: Record) -> dict[str, Any]:
    created = record.created_at // 1000
    return {"logstoreName": record.name, **LOGSTORE, **record.content, "createTime": created, "lastModifyTime": created}


@operation("ListProject", "GET /-")
def list_projects(store: RecordStore, call: OperationRequest) -> Response:
    """List the projects whose names contain ``projectName``. Source: ListProject (2020-12-30)."""
    wanted = call.query.get("projectName", "")
    rows = [each for each in store.all(call.tenant, _PROJECT) if wanted in each.name]
    shown = [_shown_project(call.tenant, each) for each in rows]
    return _answer(call, {"count": len(shown), "total": len(shown), "projects": shown})


@operation("CreateProject", "POST /-")
@operation("CreateProject", "POST /{project}")
def create_project(store: RecordStore, call: OperationRequest) -> Response:
    """Keep a project.

    Raises: PostBodyInvalid, ParameterInvalid, ProjectAlreadyExist. Source: CreateProject (2020-12-30).
    """
    content = _body(call)
    name = _required(content, "projectName")
    if store.find(call.tenant, _PROJECT, name) is not None:
        raise LogError("ProjectAlreadyExist", name=name)
    store.put(call.tenant, Record(kind=_PROJECT, name=name, content=_chosen(content, PROJECT), created_at=call.now))
    return _answer(call)


@operation("GetProject", "GET /{project}")
def get_project(store: RecordStore, call: OperationRequest) -> Response:
    """Show a project. Raises: ProjectNotExist. Source: GetProject (2020-12-30)."""
    return _answer(call, _shown_project(call.tenant, _project(store, call)))


@operation("UpdateProject", "PUT /{project}")
def update_project(store: RecordStore, call: OperationRequest) -> Response:
    """Change the description. Raises: ProjectNotExist, PostBodyInvalid. Source: UpdateProject (2020-12-30)."""
    record, content = _project(store, call), _body(call)
    change = {"description": str(content["description"])} if "description" in content else {}
    store.put(call.tenant, replace(record, content={**record.content, **change}))
    return _answer(call)


@operation("DeleteProject", "DELETE /{project}")
def delete_project(store: RecordStore, call: OperationRequest) -> Response:
    """Delete a project with its stores. Raises: ProjectNotExist. Source: DeleteProject (2020-12-30)."""
    store.remove(call.tenant, _project(store, call))
    return _answer(call)


@operation("GetProjectPolicy", "GET /{project}/policy")
def get_project_policy(store: RecordStore, call: OperationRequest) -> Response:
    """Answer that a project has no policy. Raises: ProjectNotExist. Source: GetProjectPolicy (2020-12-30)."""
    _project(store, call)
    return _answer(call, {})


@operation("ListTagResources", "GET /{project}/tags")
def list_tags(store: RecordStore, call: OperationRequest) -> Response:
    """Show the tags of the projects that the request names. Source: ListTagResources (2020-12-30)."""
    shown = [
        {"resourceType": "PROJECT", "resourceId": record.name, "tagKey": key, "tagValue": value}
        for record in _tagged(store, call, call.query.get("resourceId", ""))
        for key, value in record.tags.items()
    ]
    return _answer(call, {"tagResources": shown, "nextToken": ""})


@operation("TagResources", "POST /{project}/tag")
def tag(store: RecordStore, call: OperationRequest) -> Response:
    """Set tags of projects. Raises: PostBodyInvalid, ParameterInvalid. Source: TagResources (2020-12-30)."""
    content = _body(call)
    listed = content.get("tags") or []
    if not isinstance(listed, list) or not all(isinstance(each, dict) and "key" in each for each in listed):
        raise LogError("ParameterInvalid", name="tags")
    tags = {str(each["key"]): str(each.get("value", "")) for each in listed}
    return _retagged(store, call, content, lambda present: {**present, **tags})


@operation("UntagResources", "POST /{project}/untag")
def untag(store: RecordStore, call: OperationRequest) -> Response:
    """Remove tags of projects. Raises: PostBodyInvalid, ParameterInvalid. Source: UntagResources (2020-12-30)."""
    content = _body(call)
    listed = content.get("tags") or []
    if not isinstance(listed, list):
        raise LogError("ParameterInvalid", name="tags")
    keys = {str(key) for key in listed}
    everything = bool(content.get("all"))

    def left(present: Mapping[str, str]) -> dict[str, str]:
        return {key: value for key, value in present.items() if not everything and key not in keys}

    return _retagged(store, call, content, left)


def _tagged(store: RecordStore, call: OperationRequest, ids: Any) -> list[Record]:
    """Return the projects of a list of names, given as it is or as its JSON text."""
    try:
        names = json.loads(ids) if isinstance(ids, str) and ids else ids
    except (ValueError, RecursionError):
        names = [ids]
    if not isinstance(names, list):
        names = [names] if names else []
    rows = [store.find(call.tenant, _PROJECT, str(name)) for name in names]
    return [each for each in rows if each is not None]


def _retagged(
    store: RecordStore,
    call: OperationRequest,
    content: Mapping[str, Any],
    change: Callable[[Mapping[str, str]], dict[str, str]],
) -> Response:
    for record in _tagged(store, call, content.get("resourceId")):
        store.put(call.tenant, replace(record, tags=change(record.tags)))
    return _answer(call)


@operation("ListLogStores", "GET /{project}/logstores")
def list_logstores(store: RecordStore, call: OperationRequest) -> Response:
    """List the names of a project's stores. Raises: ProjectNotExist. Source: ListLogStores (2020-12-30)."""
    wanted = call.query.get("logstoreName", "")
    names = [each.name for each in store.all(call.tenant, _STORE, _project(store, call).name) if wanted in each.name]
    return _answer(call, {"count": len(names), "total": len(names), "logstores": names})


@operation("CreateLogStore", "POST /{project}/logstores")
def create_logstore(store: RecordStore, call: OperationRequest) -> Response:
    """Keep a store of a project.

    Raises: ProjectNotExist, PostBodyInvalid, ParameterInvalid, LogStoreAlreadyExist. Source: CreateLogStore.
    """
    project, content = _project(store, call), _body(call)
    name = _required(content, "logstoreName")
    if store.find(call.tenant, _STORE, name, project.name) is not None:
        raise LogError("LogStoreAlreadyExist", name=name)
    store.put(
        call.tenant,
        Record(kind=_STORE, name=name, inside=project.name, content=_chosen(content, LOGSTORE), created_at=call.now),
    )
    return _answer(call)


@operation("GetLogStore", "GET /{project}/logstores/{logstore}")
def get_logstore(store: RecordStore, call: OperationRequest) -> Response:
    """Show a store. Raises: ProjectNotExist, LogStoreNotExist. Source: GetLogStore (2020-12-30)."""
    return _answer(call, _shown_store(_logstore(store, call)))


@operation("UpdateLogStore", "PUT /{project}/logstores/{logstore}")
def update_logstore(store: RecordStore, call: OperationRequest) -> Response:
    """Change a store. Raises: ProjectNotExist, LogStoreNotExist, PostBodyInvalid. Source: UpdateLogStore."""
    record = _logstore(store, call)
    store.put(call.tenant, replace(record, content={**record.content, **_chosen(_body(call), LOGSTORE)}))
    return _answer(call)


@operation("DeleteLogStore", "DELETE /{project}/logstores/{logstore}")
def delete_logstore(store: RecordStore, call: OperationRequest) -> Response:
    """Delete a store. Raises: ProjectNotExist, LogStoreNotExist. Source: DeleteLogStore (2020-12-30)."""
    store.remove(call.tenant, _logstore(store, call))
    return _answer(call)


@operation("GetLogStoreMeteringMode", "GET /{project}/logstores/{logstore}/meteringmode")
def get_metering_mode(store: RecordStore, call: OperationRequest) -> Response:
    """Answer that a store is metered by function. Source: GetLogStoreMeteringMode (2020-12-30)."""
    _logstore(store, call)
    return _answer(call, {"meteringMode": "ChargeByFunction"})


@operation("ListShards", "GET /{project}/logstores/{logstore}/shards")
def list_shards(store: RecordStore, call: OperationRequest) -> Response:
    """Answer as many shards as were asked for, without keys that mean anything. Source: ListShards (2020-12-30)."""
    record = _logstore(store, call)
    shards = [
        {
            "shardID": number, "status": "readwrite", "inclusiveBeginKey": f"{number:032x}",
            "exclusiveEndKey": f"{number + 1:032x}", "createTime": record.created_at // 1000,
        }
        for number in range(min(record.content.get("shardCount", LOGSTORE["shardCount"]), _MOST_SHARDS))
    ]  # fmt: skip
    return _answer(call, shards)
