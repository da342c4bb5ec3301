"""PostObject: an object that comes as a form, signed by the policy in it.

Source: OSS "PostObject"; the text for a failed condition is assumed.
"""

import json
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from emulator.http.message import Headers, Request, Response
from emulator.oss import codec
from emulator.oss.errors import OssError
from emulator.oss.model import Place
from emulator.oss.objects import Objects, written
from emulator.oss.request import caller_of, put_of, sendable
from emulator.oss.storage import ObjectStorage
from emulator.wire.multipart import FormField, MalformedForm, form_of, is_form
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.xml import Element


class Form:
    """An upload form: its fields by their names in small letters, and the file."""

    def __init__(self, fields: list[FormField]) -> None:
        self.fields = {field.name.lower(): field.text for field in fields if field.name.lower() != "file"}
        self.file = next((field for field in fields if field.name.lower() == "file"), None)

    def __getitem__(self, name: str) -> str:
        return self.fields.get(name, "")


@operation("PostObject", "POST /{bucket}")
async def post_object(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Make an object of the form's file.

    Raises: InvalidArgument, InvalidPolicyDocument, AccessDenied for a form the policy does not allow, and what
    `Objects.put` raises.
    """
    if not is_form(call.http.headers.get("content-type")):
        raise OssError("MethodNotAllowed")
    form = _form(call.http)
    file = form.file
    if file is None or not form["key"]:
        missing = "file" if file is None else "key"
        raise OssError("InvalidArgument",
            f"Bucket POST must contain a field named '{missing}'.", name=missing, value=""
        )  # fmt: skip
    check_policy(_policy(form["policy"]), {**form.fields, "bucket": call.path["bucket"]}, len(file.content))
    sendable("success_action_redirect", form["success_action_redirect"])
    key = form["key"].replace("${filename}", file.filename.rpartition("/")[2].rpartition("\\")[2])
    headers = {"content-type": file.content_type, **form.fields}
    fields = OperationRequest(Request("POST", "/", Headers(headers.items()), file.content), call.now)
    place = Place(call.path["bucket"], key)
    stored = await Objects(storage).put(
        caller_of(call), place, file.content, put_of(fields), "ObjectCreated:PostObject"
    )
    return _answer(form, call, place, written(stored), stored.etag)


def check_policy(policy: Mapping[str, Any], fields: Mapping[str, str], size: int) -> None:
    """Check that a form of these *fields*, with a file of *size* bytes, is one that the policy allows.

    Raises: AccessDenied, InvalidPolicyDocument.
    """
    conditions = policy.get("conditions")
    if not isinstance(conditions, list):
        raise OssError("InvalidPolicyDocument", detail="Invalid JSON: conditions are missing")
    for condition in conditions:
        if not _holds(condition, fields, size):
            raise OssError(
                "AccessDenied", f"Invalid according to Policy: Policy Condition failed: {json.dumps(condition)}"
            )


def _holds(condition: object, fields: Mapping[str, str], size: int) -> bool:
    if isinstance(condition, dict) and len(condition) == 1:
        name, value = next(iter(condition.items()))
        return bool(fields.get(str(name).lower(), "") == value)
    match condition:
        case ["content-length-range", int(least), int(most)]:
            return least <= size <= most
        case [("eq" | "starts-with" | "in" | "not-in") as how, str(name), value] if name.startswith("$"):
            value_sent = fields.get(name[1:].lower(), "")
            match how, value:
                case "eq", str():
                    return value_sent == value
                case "starts-with", str():
                    return value_sent.startswith(value)
                case "in", list():
                    return value_sent in value
                case "not-in", list():
                    return value_sent not in value
    raise OssError("InvalidPolicyDocument", detail=f"Invalid condition {json.dumps(condition)[:200]}")


def _form(request: Request) -> Form:
    try:
        return Form(form_of(request))
    except MalformedForm as error:
        raise OssError(
            "InvalidArgument",
            "The body of your POST request is not well-formed multipart/form-data.",
            name="body",
            value=str(error),
        ) from None


def _policy(text: str) -> Mapping[str, Any]:
    try:
        policy = json.loads(a2b_base64(text.encode("ascii")))
    except (Base64Error, ValueError, RecursionError):
        policy = None
    if not isinstance(policy, dict):
        raise OssError("InvalidPolicyDocument", detail="Invalid JSON")
    return policy


def _answer(form: Form, call: OperationRequest, place: Place, response: Response, etag: str) -> Response:
    location = f"{call.http.scheme}://{call.host}/{place.key}"
    if redirect := form["success_action_redirect"]:
        mark = "&" if "?" in redirect else "?"
        response.status = 303
        items = urlencode({"bucket": place.bucket, "key": place.key, "etag": codec.quoted(etag)}, errors="replace")
        response.headers.append(("Location", f"{redirect}{mark}{items}"))
    elif form["success_action_status"] == "201":
        about = [
            codec.text("Bucket", place.bucket), codec.text("Location", location), codec.text("Key", place.key),
            codec.text("ETag", codec.quoted(etag)),
        ]  # fmt: skip
        document = codec.document(Element("PostResponse", children=about))
        response = Response(201, document.body, [*document.headers, *response.headers])
    elif form["success_action_status"] != "200":
        response.status = 204
    return response
