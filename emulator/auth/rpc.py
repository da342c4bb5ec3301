"""RPC v1: everything is a parameter of query or form, signed with HMAC-SHA1.

Path, host, headers and a body that is no form are not covered. Of a name in the query and in the form, the form's value
is signed, and the operation reads it. A name that comes twice with different values in one of them is refused.

Source: aliyun-python-sdk-core auth/composer/rpc_signature_composer.py for names in both.
"""

from emulator.auth.signed_request import SignedRequest, SignedTexts, base64_hmac, encode, read_utc, required
from emulator.http.message import Pairs, Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import AuthFailure, Reason
from emulator.wire.dates import iso_seconds

NAME = "RPC-V1"

_MARKS = frozenset({"Action", "AccessKeyId", "Signature"})


def is_marked(request: Request) -> bool:
    """Whether a request to path ``/`` has a parameter that only an RPC call has."""
    return any(name in _MARKS for pairs in (request.query_pairs, request.form_pairs) for name, _ in pairs)


def parameters(request: Request) -> dict[str, str]:
    """Return the parameters of query and form as one table.

    Raises: AuthFailure (REPEATED_PARAMETER).
    """
    return {**_once(request.query_pairs), **_once(request.form_pairs)}


def _once(pairs: Pairs) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise AuthFailure(Reason.REPEATED_PARAMETER, scheme=NAME, detail=name)
    return found


def string_to_sign(method: str, signed: dict[str, str]) -> str:
    """Return what is signed for *signed*, the decoded parameters; ``Signature`` among them is left out."""
    joined = "&".join(
        f"{encode(name)}={encode(value)}" for name, value in sorted(signed.items()) if name != "Signature"
    )
    # the encoded text contains only unreserved characters and these three
    again = joined.replace("%", "%25").replace("=", "%3D").replace("&", "%26")
    return f"{method}&%2F&{again}"


def sign(secret: str, string: str) -> str:
    """Return the signature of *string*."""
    return base64_hmac(secret + "&", string, "sha1")


def signed_request(request: Request) -> SignedRequest | None:
    """Read who signed *request*; None when it does not look like an RPC call.

    Raises: AuthFailure for a call with something missing or not supported.
    """
    if not is_marked(request):
        return None
    pairs = parameters(request)
    if pairs.get("SignatureType") or pairs.get("SignatureMethod", "HMAC-SHA1") != "HMAC-SHA1":
        raise AuthFailure(Reason.UNSUPPORTED_METHOD, scheme=NAME, detail="SignatureMethod")
    if pairs.get("SignatureVersion", "1.0") != "1.0":
        raise AuthFailure(Reason.UNSUPPORTED_METHOD, scheme=NAME, detail="SignatureVersion")
    key_id = required(pairs.get("AccessKeyId", ""), Reason.MISSING_KEY_ID, NAME, "AccessKeyId")
    signature = required(pairs.get("Signature", ""), Reason.MISSING_SIGNATURE, NAME, "Signature")
    date_text = pairs.get("Timestamp", "")
    date = read_utc(date_text, NAME)
    return SignedRequest(
        scheme=NAME,
        key_id=key_id,
        signature=signature,
        texts=_texts(request.method, pairs),
        sign=sign,
        token=pairs.get("SecurityToken", ""),
        date=date,
        date_text=date_text,
        nonce=required(pairs.get("SignatureNonce", ""), Reason.MISSING_NONCE, NAME, "SignatureNonce"),
    )


def _texts(method: str, pairs: dict[str, str]) -> SignedTexts:
    yield string_to_sign(method, pairs), ""


def signed_parameters(
    method: str,
    pairs: dict[str, str],
    *,
    key_id: str,
    secret: str,
    timestamp: Millis,
    nonce: str,
    token: str | None = None,
) -> dict[str, str]:
    """Return *pairs* (with ``Action`` and ``Version``) completed and signed, for a client to send as query or form."""
    complete = {
        "Format": "JSON",
        **pairs,
        "AccessKeyId": key_id,
        "SignatureMethod": "HMAC-SHA1",
        "SignatureVersion": "1.0",
        "SignatureNonce": nonce,
        "Timestamp": iso_seconds(timestamp),
    }
    if token:
        complete["SecurityToken"] = token
    complete["Signature"] = sign(secret, string_to_sign(method, complete))
    return complete
