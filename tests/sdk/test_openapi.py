"""The description of the admin API is valid and names what is served."""

import json
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from emulator.schemas import FOLDER
from emulator.testing import Emulator


def test_description_is_valid_and_complete():
    """A validator of OpenAPI 3.1 accepts it; the contract's calls are all there."""
    with Emulator() as kit, urlopen(f"{kit.endpoint}/_localyun/openapi.json") as answer:
        document = json.load(answer)

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


def test_schemas_for_editors_are_served():
    """As they are in the package, without a token; a name that is none is not found."""
    with Emulator() as kit:
        page = f"{kit.endpoint}/_localyun/schemas"
        for name in ("fdl", "statemachine.json", "localyun", "function", "service"):
            with urlopen(f"{page}/{name}") as answer:
                assert answer.headers["Content-Type"] == "application/schema+json"
                assert answer.read() == (FOLDER / f"{name.removesuffix('.json')}.json").read_bytes()
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{page}/other")
