"""The description of the admin API, made from the declared operations: OpenAPI 3.1."""

import re
from collections.abc import Iterable
from typing import Any

from emulator import __version__
from emulator.gateway.entrance import ADMIN_PREFIX
from emulator.wire.operation import ANYONE, ANYONE_LOCAL, Operation
from emulator.wire.schema.json_schema import SCHEMAS
from emulator.wire.schema.kinds import ABSENT, Field

_SECURITY: list[dict[str, list[str]]] = [{"token": []}, {"bearer": []}]
_ERROR = {"$ref": "#/components/responses/Error"}


def describe(operations: Iterable[Operation], server: str) -> dict[str, Any]:
    """Return the document; *server* is the emulator's own address."""
    paths: dict[str, dict[str, Any]] = {}
    names: set[str] = set()
    for each in operations:
        method, _, path = each.route.partition(" ")
        path = ADMIN_PREFIX.rstrip("/") + "/" + path.partition("?")[0].lstrip("/")
        paths.setdefault(path, {})[method.lower()] = _operation(each, method, path, names)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "localyun",
            "version": __version__,
            "description": "The admin API of the emulator: clock, faults, mocks, sinks, checkpoints and more.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": server}],
        "security": _SECURITY,
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Localyun-Token"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["Code", "Message"],
                    "properties": {name: {"type": "string"} for name in ("Code", "Message", "RequestId")},
                }
            },
            "responses": {
                "Error": {
                    "description": "The call is refused, or did not come to its end.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
                }
            },
        },
    }


def _operation(each: Operation, method: str, path: str, names: set[str]) -> dict[str, Any]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]
    about: dict[str, Any] = {
        "operationId": _unique(each.name, names),
        "summary": each.summary or each.name,
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": {}}}},
            "default": _ERROR,
        },
    }
    if each.right == ANYONE:
        about["security"] = [{}]
    elif each.right == ANYONE_LOCAL:
        about["security"] = [{}, *_SECURITY]
    if method == "POST":
        about["requestBody"] = _body(each.parameters)
        parameters = in_path
    else:
        parameters = [*in_path, *(_query(parameter) for parameter in each.parameters)]
        if method == "PUT":
            about["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    if parameters:
        about["parameters"] = parameters
    return about


def _unique(name: str, names: set[str]) -> str:
    """Return an operation's name, numbered when another route has it."""
    unique = next(each for each in (name, *(f"{name}-{number}" for number in range(2, 1000))) if each not in names)
    names.add(unique)
    return unique


def _schema(parameter: Field) -> dict[str, Any]:
    schema = dict(SCHEMAS.reader(parameter.kind))
    if parameter.help[0]:
        schema["description"] = parameter.help[0]
    if parameter.default is not ABSENT and parameter.default is not None and not isinstance(parameter.default, bytes):
        schema["default"] = parameter.default
    return schema


def _query(parameter: Field) -> dict[str, Any]:
    schema = _schema(parameter)
    description = schema.pop("description", "")
    query = {"name": parameter.name, "in": "query", "required": parameter.required, "schema": schema}
    return query | ({"description": description} if description else {})


def _body(parameters: Iterable[Field]) -> dict[str, Any]:
    parameters = list(parameters)
    needed = [each.name for each in parameters if each.required]
    schema: dict[str, Any] = {"type": "object", "properties": {each.name: _schema(each) for each in parameters}}
    if needed:
        schema["required"] = needed
    return {"required": bool(needed), "content": {"application/json": {"schema": schema}}}
