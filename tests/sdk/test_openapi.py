"""The description of the admin API is valid and names what is served."""

import json
from importlib import import_module
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

import emulator
from emulator.gateway.admin import SCHEMAS
from emulator.testing import Emulator
from emulator.wire.operation import operations_of

ROOT = Path(emulator.__file__).parent
MODULES = [
    *ROOT.rglob("*admin.py"),
    *(ROOT / each for each in ("gateway/errors.py", "gateway/recording.py", "console/front.py")),
]


@pytest.fixture(scope="module")
def kit():
    with Emulator() as started:
        yield started


@pytest.fixture(scope="module")
def document(kit):
    with urlopen(f"{kit.endpoint}/_localyun/openapi.json") as answer:
        return json.load(answer)


def test_every_admin_operation_is_described(document):
    """With each of its parameters: in the path, in the query or in the body."""
    described = {}
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            names = {each["name"] for each in about.get("parameters", ())}
            described[f"{method.upper()} {path.removeprefix('/_localyun')}"] = names | set(_members(about))

    declared = {}
    for file in MODULES:
        module = import_module(".".join(("emulator", *file.relative_to(ROOT).with_suffix("").parts)))
        for each in operations_of(module):
            in_path = {part[1:-1] for part in each.route.split("/") if part.startswith("{")}
            declared[each.route] = in_path | {parameter.name for parameter in each.parameters}

    assert described == declared


def test_page_names_the_arguments_that_are_base64(document):
    """A reader of the page alone would send plain text."""
    page = (ROOT.parent / "docs" / "admin-api.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}

    encoded = [
        (f"{method.upper()} {path}", name)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
        for name, schema in _members(about).items()
        if "contentEncoding" in schema
    ]

    assert ("POST /_localyun/call-later", "event") in encoded
    assert [each for each in encoded if f"`{each[1]}` (Base64)" not in rows[each[0]]] == []


def _members(about):
    """Return the schemas of the members of a request's body."""
    content = about.get("requestBody", {}).get("content", {}).get("application/json", {})
    return content.get("schema", {}).get("properties", {})


def test_every_described_path_is_served(kit, document):
    """Without the token it is refused for that, and not because it is unknown."""
    answers = {}
    for path, methods in document["paths"].items():
        for method in (each for each, about in methods.items() if "security" not in about):
            target = path.replace("{", "").replace("}", "")
            answers[method, path] = kit.api._send(method.upper(), target, {}, None).status_code

    assert len(answers) > 50
    assert set(answers.values()) == {403}


def test_description_is_valid_and_has_the_contract(document):
    """A validator of OpenAPI 3.1 accepts it; the contract's calls are all there."""
    validate(document, cls=OpenAPIV31SpecValidator)
    calls = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert calls >= {
        "GET /_localyun/clock", "POST /_localyun/clock", "POST /_localyun/settle", "POST /_localyun/skip",
        "POST /_localyun/faults", "GET /_localyun/faults", "DELETE /_localyun/faults", "DELETE /_localyun/faults/{id}",
        "POST /_localyun/mocks", "GET /_localyun/mocks/{id}/calls", "GET /_localyun/calls/{service}/{function}",
        "POST /_localyun/sinks", "GET /_localyun/sinks/{id}", "POST /_localyun/checkpoints/{name}",
        "POST /_localyun/checkpoints/{name}/restore", "GET /_localyun/checkpoints",
        "DELETE /_localyun/checkpoints/{name}", "POST /_localyun/accounts", "GET /_localyun/accounts",
        "DELETE /_localyun/accounts/{account}", "GET /_localyun/openapi.json",
    }  # fmt: skip
    body = document["paths"]["/_localyun/clock"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(body["properties"]) == {"advance", "to", "next", "freeze"}


def test_schemas_for_editors_are_served(kit):
    """As they are in the package, without a token; a name that is none is not found."""
    page = f"{kit.endpoint}/_localyun/schemas"
    for name in ("fdl", "statemachine.json", "localyun", "function", "service"):
        with urlopen(f"{page}/{name}") as answer:
            assert answer.headers["Content-Type"] == "application/schema+json"
            assert answer.read() == (SCHEMAS / f"{name.removesuffix('.json')}.json").read_bytes()
    with pytest.raises(HTTPError, match="404") as refused:
        urlopen(f"{page}/other")
    refused.value.close()
