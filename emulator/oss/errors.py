"""Errors of the object store: one table of codes, statuses and texts; and the subjects of its calls for faults.

Source: OSS "Common error codes"; "assumed" marks the rest.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from emulator.kernel.errors import AuthFailure, ErrorRow, Reason, ServiceError
from emulator.kernel.instrumentation import Dialect, Origin, Subject

ERRORS: Mapping[str, ErrorRow] = {
    # the request as a whole
    "InternalError": ErrorRow(500, "We encountered an internal error. Please try again."),
    "OperationNotSupported": ErrorRow(400, "{operation} is not served by this emulator's object storage."),  # assumed
    # object storage is an extra of this package; not in the cloud
    "ExtraMissing": ErrorRow(
        400,
        "This emulator runs without object storage. To add it: pip install 'localyun[oss]'.",
        "OperationNotSupported",
    ),
    "MethodNotAllowed": ErrorRow(405, "The specified method is not allowed against this resource."),
    "EntityTooLarge": ErrorRow(400, "Your proposed upload exceeds the maximum allowed size of {limit} bytes."),
    # who calls
    "AccessDenied": ErrorRow(403, "You have no right to access this object because of bucket acl."),
    "InvalidAuthorization": ErrorRow(400, "Authorization is invalid: {detail}.", "InvalidArgument"),
    "RequestTimeTooSkewed": ErrorRow(403, "The difference between the request time and the current time is too large."),
    "InvalidAccessKeyId": ErrorRow(403, "The OSS Access Key Id you provided does not exist in our records."),
    # fields: ``key_id``, ``signature``, ``string_to_sign``, ``canonical_request`` ("" where the scheme has none)
    "SignatureDoesNotMatch": ErrorRow(
        403,
        "The request signature we calculated does not match the signature you provided. "
        "Check your key and signing method.",
    ),
    "InvalidSecurityToken": ErrorRow(403, "The security token you provided is invalid."),
    "SecurityTokenExpired": ErrorRow(403, "The security token you provided has expired."),
    "InvalidDigest": ErrorRow(400, "The Content-MD5 you specified was invalid."),
    # headers, parameters and documents
    "InvalidArgument": ErrorRow(400, "The {name} specified is invalid."),  # fields: ``name``, ``value``
    "MalformedXML": ErrorRow(
        400, "The XML you provided was not well-formed or did not validate against our published schema."
    ),
    "InvalidTag": ErrorRow(400, "The TagSet you have provided is invalid."),
    "InvalidPolicyDocument": ErrorRow(400, "Invalid Policy: {detail}."),
    # buckets; field: ``bucket``
    "InvalidBucketName": ErrorRow(400, "The specified bucket is not valid."),
    "NoSuchBucket": ErrorRow(404, "The specified bucket does not exist."),
    "BucketAlreadyExists": ErrorRow(
        409,
        "The requested bucket name is not available. The bucket namespace is shared by all users of the system. "
        "Please select a different name and try again.",
    ),
    "BucketNotEmpty": ErrorRow(409, "The bucket has objects. Please delete them first."),
    "TooManyBuckets": ErrorRow(400, "You have attempted to create more buckets than allowed."),
    # the bucket is not in the region of the host name; field: ``endpoint``, that of its region
    "WrongEndpoint": ErrorRow(
        403,
        "The bucket you are attempting to access must be addressed using the specified endpoint. "
        "Please send all future requests to this endpoint.",
        "AccessDenied",
    ),
    "NoSuchLifecycle": ErrorRow(404, "The lifecycle configuration does not exist."),
    "NoSuchCORSConfiguration": ErrorRow(404, "The CORS configuration does not exist."),
    "NoSuchWebsiteConfiguration": ErrorRow(404, "The website configuration does not exist."),
    "NoSuchBucketPolicy": ErrorRow(404, "The bucket policy does not exist."),
    "NoSuchServerSideEncryptionRule": ErrorRow(404, "The server side encryption rule does not exist."),
    "NoSuchTransferAccelerationConfiguration": ErrorRow(404, "The transfer acceleration configuration does not exist."),
    "NoSuchHttpsConfig": ErrorRow(404, "The HTTPS configuration does not exist."),
    "NoSuchReplicationConfiguration": ErrorRow(404, "The bucket replication configuration does not exist."),
    "NoSuchWORMConfiguration": ErrorRow(404, "The WORM configuration does not exist."),
    # objects; field: ``key``
    "InvalidObjectName": ErrorRow(400, "The specified object is not valid."),
    "NoSuchKey": ErrorRow(404, "The specified key does not exist."),
    "FileAlreadyExists": ErrorRow(409, "The object you specified already exists and can not be overwritten."),
    "PreconditionFailed": ErrorRow(412, "At least one of the pre-conditions you specified did not hold."),
    "NotModified": ErrorRow(304, "Not modified."),  # fields: ``etag``, ``modified``, for the answer's headers
    "InvalidRange": ErrorRow(416, "The requested range cannot be satisfied."),
    "ObjectNotAppendable": ErrorRow(409, "The object is not appendable"),
    "PositionNotEqualToLength": ErrorRow(409, "Position is not equal to file length"),  # field: ``length``
    # multipart uploads
    "NoSuchUpload": ErrorRow(
        404,
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or "
        "completed.",
    ),
    "InvalidPart": ErrorRow(
        400,
        "One or more of the specified parts could not be found or the specified entity tag might not have matched the "
        "part's entity tag.",
    ),
    "InvalidPartOrder": ErrorRow(
        400, "The list of parts was not in ascending order. Parts list must specified in order by part number."
    ),
    "EntityTooSmall": ErrorRow(400, "Your proposed upload smaller than the minimum allowed size."),
    # answered only by injected faults
    "TotalQpsLimitExceeded": ErrorRow(503, "Please reduce your request rate."),
}

UNSPECIFIC_EC = "0000-00000001"
DETAILS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "AccessDenied": ("0003-00000001", {}),
    "BucketAlreadyExists": ("0015-00000104", {"BucketName": "bucket"}),
    "BucketNotEmpty": ("0015-00000301", {"BucketName": "bucket"}),
    "EntityTooSmall": ("0042-00000005", {"ProposedSize": "size", "MinSizeAllowed": "least", "PartNumber": "part"}),
    "FileAlreadyExists": ("0026-00000023", {"Key": "key"}),
    "InvalidAccessKeyId": ("0002-00000902", {}),
    "InvalidArgument": ("0002-00000225", {"ArgumentName": "name", "ArgumentValue": "value"}),
    "InvalidAuthorization": ("0002-00000224", {}),
    "InvalidBucketName": ("0015-00000001", {"BucketName": "bucket"}),
    "InvalidDigest": ("0016-00000601", {}),
    "InvalidObjectName": ("0016-00000001", {}),
    "InvalidPart": ("0042-00000003", {"PartNumber": "part", "ETag": "etag"}),
    "InvalidPartOrder": ("0042-00000004", {}),
    "InvalidPolicyDocument": ("0007-00000001", {}),
    "InvalidRange": ("0026-00000016", {"ActualObjectSize": "size"}),
    "MalformedXML": ("0012-00000209", {}),
    "NoSuchBucket": ("0015-00000101", {"BucketName": "bucket"}),
    "NoSuchKey": ("0026-00000001", {"Key": "key"}),
    "NoSuchUpload": ("0042-00000002", {"UploadId": "upload"}),
    "ObjectNotAppendable": ("0026-00000052", {}),
    "PositionNotEqualToLength": ("0026-00000051", {}),
    "PreconditionFailed": ("0026-00000021", {"Condition": "condition"}),
    "RequestTimeTooSkewed": ("0002-00000504", {}),
    "SecurityTokenExpired": ("0002-00000069", {}),
    "SignatureDoesNotMatch": ("0002-00000040", {}),
    "TooManyBuckets": ("0015-00000103", {}),
    "WrongEndpoint": ("0003-00001403", {"Endpoint": "endpoint"}),
}
"""By error: the finer code for the element EC and a header, and the fields repeated in the answer, by element.

Errors that are not in it have the unspecific code.
"""


class OssError(ServiceError):
    """An error answered as the XML document of the object store; ``name`` is its row."""

    table = ERRORS

    def __init__(self, name: str, message: str | None = None, /, **fields: Any) -> None:
        super().__init__(name, message, **fields)
        self.name = name
        self.ec, self.repeated = DETAILS.get(name, (UNSPECIFIC_EC, {}))


def invalid(name: str, value: str = "", message: str | None = None) -> OssError:
    """Return the error for the argument *name*; the answer repeats its *value*."""
    return OssError("InvalidArgument", message, name=name, value=value)


def oss_auth_error(failure: AuthFailure, key_id: str, signature: str) -> OssError:  # noqa: C901 - an arm for each reason
    """Turn a reason into this service's code; the answer repeats *key_id* and *signature* of the request."""
    match failure.reason:
        case Reason.SIGNATURE_DIFFERS:
            return OssError(
                "SignatureDoesNotMatch",
                key_id=key_id,
                signature=signature,
                string_to_sign=failure.string_to_sign,
                canonical_request=failure.canonical_request,
            )
        case Reason.MISSING_AUTHORIZATION:
            return OssError("AccessDenied", "Anonymous access is forbidden for this operation.")
        case Reason.MISSING_SIGNATURE:
            return OssError("AccessDenied", "The request carries no signature.")
        case Reason.MISSING_DATE | Reason.BAD_DATE:
            return OssError("AccessDenied", "OSS authentication requires a valid Date.")
        case Reason.URL_EXPIRED:
            return OssError("AccessDenied", "Request has expired.")
        case Reason.FOREIGN_ACCOUNT:
            return OssError("AccessDenied", "The bucket you access does not belong to you.")
        case Reason.SKEWED_DATE:
            name = "RequestTimeTooSkewed"
        case Reason.UNKNOWN_KEY | Reason.INACTIVE_KEY | Reason.MISSING_TOKEN:
            name = "InvalidAccessKeyId"
        case Reason.BAD_TOKEN | Reason.TOKEN_OF_ANOTHER_KEY:
            name = "InvalidSecurityToken"
        case Reason.TOKEN_EXPIRED:
            name = "SecurityTokenExpired"
        case Reason.BODY_DIFFERS:
            name = "InvalidDigest"
        case (
            Reason.MALFORMED_AUTHORIZATION
            | Reason.MISSING_KEY_ID
            | Reason.MISSING_NONCE
            | Reason.NONCE_USED
            | Reason.UNSUPPORTED_METHOD
            | Reason.UNSIGNED_HEADER
            | Reason.REPEATED_PARAMETER
        ):
            name = "InvalidAuthorization"
        case _:
            assert_never(failure.reason)
    return OssError(name, detail=failure.detail)


DIALECT = Dialect(OssError, "TotalQpsLimitExceeded")


def subject(operation: str, bucket: str, key: str = "", origin: Origin = "client") -> Subject:
    """Return the subject of an operation on a bucket or an object, for faults."""
    names = (f"{bucket}/{key}", bucket) if key else (bucket,)
    return Subject("oss", operation, names if bucket else (), (origin,))
