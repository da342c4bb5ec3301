"""PostObject: an object that comes as a form, signed by the policy in it.

Source: OSS "PostObject"; which text a failed condition is told with is assumed.
"""

import json
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from emulator.http.message import Headers, Request, Response
from emulator.oss import wire
from emulator.oss.call import Call, sendable
from emulator.oss.errors import AccessDenied, InvalidArgument, InvalidPolicyDocument
from emulator.oss.object_api import written
from emulator.oss.objects import Objects, Place
from emulator.wire.multipart import FormField, MalformedForm, read_form
from emulator.wire.xml import Element


class Form:
    """An upload form: its fields by their names in small letters, and the file."""

    def __init__(self, fields: list[FormField]) -> None:
        self.fields = {field.name.lower(): field.text for field in fields if field.name.lower() != "file"}
        self.file = next((field for field in fields if field.name.lower() == "file"), None)

    def __getitem__(self, name: str) -> str:
        return self.fields.get(name, "")


async def post_object(objects: Objects, call: Call) -> Response:
    """Make an object of the form's file.

    Raises: InvalidArgument, InvalidPolicyDocument, AccessDenied for a form the policy does not allow, and what
    `Objects.put` raises.
    """
    form = _form(call.request)
    file = form.file
    if file is None or not form["key"]:
        missing = "file" if file is None else "key"
        raise InvalidArgument(
            f"Bucket POST must contain a field named '{missing}'.", name=missing, value=""
        )  # fmt: skip
    check_policy(_policy(form["policy"]), {**form.fields, "bucket": call.place.bucket}, len(file.content))
    sendable("success_action_redirect", form["success_action_redirect"])
    key = form["key"].replace("${filename}", file.filename.rpartition("/")[2].rpartition("\\")[2])
    headers = {"content-type": file.content_type, **form.fields}
    said = Call(call.context, Request("POST", "/", Headers(headers.items()), file.content))
    place = Place(call.place.bucket, key)
    stored = await objects.put(call.caller, place, file.content, said.put(), "ObjectCreated:PostObject")
    return _answer(form, call, place, written(stored), stored.etag)


def check_policy(policy: Mapping[str, Any], fields: Mapping[str, str], size: int) -> None:
    """Check that a form of these *fields*, with a file of *size* bytes, is one that the policy allows.

    Raises: AccessDenied, InvalidPolicyDocument.
    """
    conditions = policy.get("conditions")
    if not isinstance(conditions, list):
        raise InvalidPolicyDocument(detail="Invalid JSON: conditions are missing")
    for condition in conditions:
        if not _holds(condition, fields, size):
            raise AccessDenied(f"Invalid according to Policy: Policy Condition failed: {json.dumps(condition)}")


def _holds(condition: object, fields: Mapping[str, str], size: int) -> bool:
    if isinstance(condition, dict) and len(condition) == 1:
        name, value = next(iter(condition.items()))
        return bool(fields.get(str(name).lower(), "") == value)
    match condition:
        case ["content-length-range", int(least), int(most)]:
            return least <= size <= most
        case [("eq" | "starts-with" | "in" | "not-in") as how, str(name), value] if name.startswith("$"):
            found = fields.get(name[1:].lower(), "")
            match how, value:
                case "eq", str():
                    return found == value
                case "starts-with", str():
                    return found.startswith(value)
                case "in", list():
                    return found in value
                case "not-in", list():
                    return found not in value
    raise InvalidPolicyDocument(detail=f"Invalid condition {json.dumps(condition)[:200]}")


def _form(request: Request) -> Form:
    try:
        return Form(read_form(request.headers.get("content-type"), request.body))
    except MalformedForm as error:
        raise InvalidArgument(
            "The body of your POST request is not well-formed multipart/form-data.", name="body", value=str(error)
        ) from None


def _policy(text: str) -> Mapping[str, Any]:
    try:
        policy = json.loads(a2b_base64(text.encode("ascii")))
    except (Base64Error, ValueError, RecursionError):
        policy = None
    if not isinstance(policy, dict):
        raise InvalidPolicyDocument(detail="Invalid JSON")
    return policy


def _answer(form: Form, call: Call, place: Place, response: Response, etag: str) -> Response:
    location = f"{call.request.scheme}://{call.context.host}/{place.key}"
    if redirect := form["success_action_redirect"]:
        mark = "&" if "?" in redirect else "?"
        response.status = 303
        told = urlencode({"bucket": place.bucket, "key": place.key, "etag": wire.quoted(etag)}, errors="replace")
        response.headers.append(("Location", f"{redirect}{mark}{told}"))
    elif form["success_action_status"] == "201":
        about = [
            wire.text("Bucket", place.bucket), wire.text("Location", location), wire.text("Key", place.key),
            wire.text("ETag", wire.quoted(etag)),
        ]  # fmt: skip
        document = wire.document(Element("PostResponse", children=about))
        response = Response(201, document.body, [*document.headers, *response.headers])
    elif form["success_action_status"] != "200":
        response.status = 204
    return response
