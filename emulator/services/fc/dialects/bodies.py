"""Pieces of request bodies that several dialects share."""

import json
from collections.abc import Mapping
from typing import Any

from emulator.services.fc import checks
from emulator.services.fc.checks import shape, text
from emulator.services.fc.code import CodeSource
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.fields import Field, read
from emulator.services.fc.limits import DESCRIPTION_LENGTH

DESCRIPTION = Field("description", "description", text(DESCRIPTION_LENGTH))

_CODE = shape(zipFile=text(), ossBucketName=text(), ossObjectName=text(), checksum=text())


def code_source(body: Mapping[str, Any], checksum_header: str = "") -> CodeSource | None:
    """Return where the code is, None when the body has none; the checksum comes from the header or from the body.

    Raises: InvalidArgument unless exactly one of zip and object is given.
    """
    given = next((value for key, value in body.items() if key.lower() == "code"), None)
    if given is None:
        return None
    code = _CODE(given, "code")
    package = code.get("zipFile", "")
    bucket, name = code.get("ossBucketName", ""), code.get("ossObjectName", "")
    if not package and not bucket and not name:
        return None
    if package and (bucket or name):
        raise InvalidArgument("code must have either zipFile or ossBucketName and ossObjectName, not both")
    if not package and not (bucket and name):
        raise InvalidArgument("code.ossBucketName and code.ossObjectName must be given together")
    checksum = checksum_header.strip() or code.get("checksum", "")
    return CodeSource(zip_base64=package, bucket=bucket, object_name=name, checksum=checksum)


def description(body: Mapping[str, Any]) -> str:
    """Return the description in a publish request.

    Raises: InvalidArgument.
    """
    return str(read((DESCRIPTION,), body).get("description", ""))


def truth(value: object) -> bool:
    """Read a boolean of a query or body, in any spelling clients use; anything else is false."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def json_list(value: str, field: str) -> list[Any]:
    """Read a list-valued query parameter, which is JSON text; a bare value is a list of one.

    Raises: InvalidArgument.
    """
    if not value:
        return []
    if value[0] != "[":
        return [value]
    try:
        parsed = json.loads(value)
    except ValueError:
        raise InvalidArgument(f"{field} is not a JSON list") from None
    return parsed if isinstance(parsed, list) else []


def tag_filter(value: object, field: str) -> dict[str, str | None]:
    """Read ``[{"Key": ..., "Value": ...}]``, in upper or lower case; None for a key without a value.

    Raises: InvalidArgument.
    """
    rows = checks.items(shape(key=text(shortest=1), value=text()))(value, field)
    for row in rows:
        if "key" not in row:
            raise InvalidArgument(f"{field} must be a list of objects with Key and Value")
    return {row["key"]: row.get("value") for row in rows}


def tag_pairs(value: object, field: str) -> dict[str, str]:
    """Read ``[{"Key": ..., "Value": ...}]``, in upper or lower case.

    Raises: InvalidArgument.
    """
    return {key: value or "" for key, value in tag_filter(value, field).items()}
