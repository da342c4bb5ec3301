"""Errors of the object store: codes, statuses and texts.

::

    OssError
    |-- InternalError, OperationNotSupported, ExtraMissing, EntityTooLarge, MethodNotAllowed
    |-- AccessDenied, InvalidAuthorization, RequestTimeTooSkewed, InvalidAccessKeyId, SignatureDoesNotMatch
    |-- InvalidSecurityToken, SecurityTokenExpired
    |-- InvalidArgument, MalformedXML, InvalidDigest, InvalidTag, InvalidPolicyDocument
    |-- InvalidBucketName, NoSuchBucket, BucketAlreadyExists, BucketNotEmpty, TooManyBuckets, WrongEndpoint,
    |   NoConfiguration
    |-- InvalidObjectName, NoSuchKey, FileAlreadyExists, PreconditionFailed, NotModified, InvalidRange
    |-- ObjectNotAppendable, PositionNotEqualToLength
    `-- NoSuchUpload, InvalidPart, InvalidPartOrder, EntityTooSmall

``ec`` is the finer code that goes into the element EC and a header; ``shown`` are the fields that the answer repeats as
elements. Source: OSS "Common error codes"; "assumed" marks the rest.
"""

from typing import ClassVar

from emulator.kernel.errors import AuthFailure, Reason, ServiceError


class OssError(ServiceError):
    """An error answered as the XML document of the object store."""

    ec: ClassVar[str] = "0000-00000001"
    shown: ClassVar[tuple[tuple[str, str], ...]] = ()


class InternalError(OssError):
    """Something went wrong inside the emulator."""

    code = "InternalError"
    http_status = 500
    template = "We encountered an internal error. Please try again."


class OperationNotSupported(OssError):
    """An operation that this emulator does not serve. Field: ``operation``. Source: text assumed."""

    code = "OperationNotSupported"
    http_status = 400
    template = "{operation} is not served by this emulator's object storage."


class ExtraMissing(OssError):
    """Object storage is an extra of this package, and it is not installed. Source: not in the cloud."""

    code = "OperationNotSupported"
    http_status = 400
    template = "This emulator runs without object storage. To have it: pip install 'localyun[oss]'."


class MethodNotAllowed(OssError):
    """The method has no meaning for what the request addresses."""

    code = "MethodNotAllowed"
    http_status = 405
    template = "The specified method is not allowed against this resource."


class EntityTooLarge(OssError):
    """The object is larger than is taken here. Field: ``limit`` in bytes."""

    code = "EntityTooLarge"
    http_status = 400
    template = "Your proposed upload exceeds the maximum allowed size of {limit} bytes."


class AccessDenied(OssError):
    """No signature, no date, or a URL whose time is over; the message tells which."""

    code = "AccessDenied"
    http_status = 403
    template = "You have no right to access this object because of bucket acl."
    ec = "0003-00000001"


class InvalidAuthorization(OssError):
    """The Authorization header, or a signed URL's parameters, cannot be read. Field: ``detail``."""

    code = "InvalidArgument"
    http_status = 400
    template = "Authorization is invalid: {detail}."
    ec = "0002-00000224"


class RequestTimeTooSkewed(OssError):
    """The date is more than 15 minutes off."""

    code = "RequestTimeTooSkewed"
    http_status = 403
    template = "The difference between the request time and the current time is too large."
    ec = "0002-00000504"


class InvalidAccessKeyId(OssError):
    """Nobody has this key, or a temporary one came without its token."""

    code = "InvalidAccessKeyId"
    http_status = 403
    template = "The OSS Access Key Id you provided does not exist in our records."
    ec = "0002-00000902"


class SignatureDoesNotMatch(OssError):
    """The signature is not the one computed here.

    Fields: ``key_id``, ``signature``, ``string_to_sign``, ``canonical_request`` ("" where the scheme has none); the
    answer shows them all.
    """

    code = "SignatureDoesNotMatch"
    http_status = 403
    template = (
        "The request signature we calculated does not match the signature you provided. "
        "Check your key and signing method."
    )
    ec = "0002-00000040"


class InvalidSecurityToken(OssError):
    """The token is not the key's."""

    code = "InvalidSecurityToken"
    http_status = 403
    template = "The security token you provided is invalid."


class SecurityTokenExpired(OssError):
    """The temporary key's time is over."""

    code = "SecurityTokenExpired"
    http_status = 403
    template = "The security token you provided has expired."
    ec = "0002-00000069"


class InvalidDigest(OssError):
    """The stated digest is not the body's."""

    code = "InvalidDigest"
    http_status = 400
    template = "The Content-MD5 you specified was invalid."
    ec = "0016-00000601"


# --- what a request says ---------------------------------------------------------------------------------------------


class InvalidArgument(OssError):
    """A header, a parameter or an element has a value it cannot have. Fields: ``name``, ``value``."""

    code = "InvalidArgument"
    http_status = 400
    template = "The {name} specified is invalid."
    ec = "0002-00000225"
    shown = (("ArgumentName", "name"), ("ArgumentValue", "value"))


class MalformedXML(OssError):
    """The body is not the XML document this operation takes."""

    code = "MalformedXML"
    http_status = 400
    template = "The XML you provided was not well-formed or did not validate against our published schema."
    ec = "0012-00000209"


class InvalidTag(OssError):
    """Too many tags, a tag too long, or one that comes twice."""

    code = "InvalidTag"
    http_status = 400
    template = "The TagSet you have provided is invalid."


class InvalidPolicyDocument(OssError):
    """The policy of an upload form cannot be read, is over, or does not allow the form. Field: ``detail``."""

    code = "InvalidPolicyDocument"
    http_status = 400
    template = "Invalid Policy: {detail}."
    ec = "0007-00000001"


# --- buckets ---------------------------------------------------------------------------------------------------------


class InvalidBucketName(OssError):
    """A bucket cannot have this name. Field: ``bucket``."""

    code = "InvalidBucketName"
    http_status = 400
    template = "The specified bucket is not valid."
    ec = "0015-00000001"
    shown = (("BucketName", "bucket"),)


class NoSuchBucket(OssError):
    """There is no such bucket. Field: ``bucket``."""

    code = "NoSuchBucket"
    http_status = 404
    template = "The specified bucket does not exist."
    ec = "0015-00000101"
    shown = (("BucketName", "bucket"),)


class BucketAlreadyExists(OssError):
    """Another account or another region has a bucket of this name. Field: ``bucket``."""

    code = "BucketAlreadyExists"
    http_status = 409
    template = (
        "The requested bucket name is not available. The bucket namespace is shared by all users of the system. "
        "Please select a different name and try again."
    )
    ec = "0015-00000104"
    shown = (("BucketName", "bucket"),)


class BucketNotEmpty(OssError):
    """The bucket still has objects or uploads. Field: ``bucket``."""

    code = "BucketNotEmpty"
    http_status = 409
    template = "The bucket has objects. Please delete them first."
    ec = "0015-00000301"
    shown = (("BucketName", "bucket"),)


class TooManyBuckets(OssError):
    """The account has as many buckets as it may. Field: ``limit``."""

    code = "TooManyBuckets"
    http_status = 400
    template = "You have attempted to create more buckets than allowed."
    ec = "0015-00000103"


class WrongEndpoint(OssError):
    """The bucket is in another region than the host name says. Field: ``endpoint``, where it is."""

    code = "AccessDenied"
    http_status = 403
    template = (
        "The bucket you are attempting to access must be addressed using the specified endpoint. "
        "Please send all future requests to this endpoint."
    )
    ec = "0003-00001403"
    shown = (("Endpoint", "endpoint"),)


class NoConfiguration(OssError):
    """A bucket's setting that was never made. Fields: ``code`` and what the setting is, ``setting``."""

    http_status = 404
    template = "The {setting} does not exist."

    def __init__(self, code: str, setting: str) -> None:
        super().__init__(setting=setting)
        self.code = code


# --- objects ---------------------------------------------------------------------------------------------------------


class InvalidObjectName(OssError):
    """An object cannot have this name. Field: ``key``."""

    code = "InvalidObjectName"
    http_status = 400
    template = "The specified object is not valid."
    ec = "0016-00000001"


class NoSuchKey(OssError):
    """There is no such object. Field: ``key``."""

    code = "NoSuchKey"
    http_status = 404
    template = "The specified key does not exist."
    ec = "0026-00000001"
    shown = (("Key", "key"),)


class FileAlreadyExists(OssError):
    """The object is there, and the request forbids to overwrite it. Field: ``key``."""

    code = "FileAlreadyExists"
    http_status = 409
    template = "The object you specified already exists and can not be overwritten."
    ec = "0026-00000023"
    shown = (("Key", "key"),)


class PreconditionFailed(OssError):
    """A condition of the request does not hold. Field: ``condition``, the header."""

    code = "PreconditionFailed"
    http_status = 412
    template = "At least one of the pre-conditions you specified did not hold."
    ec = "0026-00000021"
    shown = (("Condition", "condition"),)


class NotModified(OssError):
    """The caller has the object as it is; an answer without a body. Fields: ``etag``, ``modified`` (headers' texts)."""

    code = "NotModified"
    http_status = 304
    template = "Not modified."


class InvalidRange(OssError):
    """The range lies beyond the object's end. Field: ``size`` in bytes."""

    code = "InvalidRange"
    http_status = 416
    template = "The requested range cannot be satisfied."
    ec = "0026-00000016"
    shown = (("ActualObjectSize", "size"),)


class ObjectNotAppendable(OssError):
    """The object is not one that was made by appending."""

    code = "ObjectNotAppendable"
    http_status = 409
    template = "The object is not appendable"
    ec = "0026-00000052"


class PositionNotEqualToLength(OssError):
    """What is appended does not begin where the object ends. Field: ``length``, where that is."""

    code = "PositionNotEqualToLength"
    http_status = 409
    template = "Position is not equal to file length"
    ec = "0026-00000051"


# --- multipart uploads -----------------------------------------------------------------------------------------------


class NoSuchUpload(OssError):
    """There is no such upload of this object. Field: ``upload``, its id."""

    code = "NoSuchUpload"
    http_status = 404
    template = (
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or "
        "completed."
    )
    ec = "0042-00000002"
    shown = (("UploadId", "upload"),)


class InvalidPart(OssError):
    """A part is not there or has another ETag than stated. Fields: ``part``, ``etag``."""

    code = "InvalidPart"
    http_status = 400
    template = (
        "One or more of the specified parts could not be found or the specified entity tag might not have matched the "
        "part's entity tag."
    )
    ec = "0042-00000003"
    shown = (("PartNumber", "part"), ("ETag", "etag"))


class InvalidPartOrder(OssError):
    """The parts are not listed by ascending numbers."""

    code = "InvalidPartOrder"
    http_status = 400
    template = "The list of parts was not in ascending order. Parts list must specified in order by part number."
    ec = "0042-00000004"


class EntityTooSmall(OssError):
    """A part before the last one is too small. Fields: ``part``, ``size``, ``least``."""

    code = "EntityTooSmall"
    http_status = 400
    template = "Your proposed upload smaller than the minimum allowed size."
    ec = "0042-00000005"
    shown = (("ProposedSize", "size"), ("MinSizeAllowed", "least"), ("PartNumber", "part"))


_BY_REASON: dict[Reason, type[OssError]] = {
    Reason.SKEWED_DATE: RequestTimeTooSkewed,
    Reason.UNKNOWN_KEY: InvalidAccessKeyId,
    Reason.INACTIVE_KEY: InvalidAccessKeyId,
    Reason.MISSING_TOKEN: InvalidAccessKeyId,
    Reason.BAD_TOKEN: InvalidSecurityToken,
    Reason.TOKEN_OF_ANOTHER_KEY: InvalidSecurityToken,
    Reason.TOKEN_EXPIRED: SecurityTokenExpired,
    Reason.BODY_DIFFERS: InvalidDigest,
}

_DENIED: dict[Reason, str] = {
    Reason.MISSING_AUTHORIZATION: "Anonymous access is forbidden for this operation.",
    Reason.MISSING_SIGNATURE: "The request carries no signature.",
    Reason.MISSING_DATE: "OSS authentication requires a valid Date.",
    Reason.BAD_DATE: "OSS authentication requires a valid Date.",
    Reason.URL_EXPIRED: "Request has expired.",
    Reason.FOREIGN_ACCOUNT: "The bucket you access does not belong to you.",
}


def oss_auth_error(failure: AuthFailure, key_id: str, signature: str) -> OssError:
    """Turn a reason into this service's code; *key_id* and *signature* are what the request carried, to be shown."""
    if failure.reason is Reason.SIGNATURE_DIFFERS:
        return SignatureDoesNotMatch(
            key_id=key_id,
            signature=signature,
            string_to_sign=failure.string_to_sign,
            canonical_request=failure.canonical_request,
        )
    if failure.reason in _DENIED:
        return AccessDenied(_DENIED[failure.reason])
    return _BY_REASON.get(failure.reason, InvalidAuthorization)(detail=failure.detail)
