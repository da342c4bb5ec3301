"""Which operation a request names: by method, by what it addresses and by the subresource in its query.

Source: OSS API reference.
"""

from collections.abc import Awaitable, Callable, Mapping

from emulator.http.message import Response
from emulator.oss.bucket_api import EMPTY, UNSET, BucketApi
from emulator.oss.call import Call
from emulator.oss.errors import MethodNotAllowed, OperationNotSupported
from emulator.oss.object_api import ObjectApi
from emulator.oss.objects import Objects
from emulator.oss.storage import ObjectStorage
from emulator.oss.subresources import choosing
from emulator.oss.upload_api import UploadApi
from emulator.oss.uploads import Uploads

Handler = Callable[[Call], Awaitable[Response]]
Table = Mapping[tuple[str, str], tuple[str, Handler]]
"""(method, subresource or "") -> (name of the operation, what runs it)."""


class ObjectApis:
    """The operations that are served."""

    def __init__(self, storage: ObjectStorage) -> None:
        objects = Objects(storage)
        uploads = Uploads(storage, objects)
        bucket, each, upload = BucketApi(storage, objects), ObjectApi(storage, objects), UploadApi(storage, uploads)
        self.objects = objects
        self._account: Table = {("GET", ""): ("ListBuckets", bucket.list_buckets)}
        self._bucket: Table = {
            ("PUT", ""): ("PutBucket", bucket.create),
            ("GET", ""): ("ListObjects", bucket.list_objects),
            ("DELETE", ""): ("DeleteBucket", bucket.delete),
            ("GET", "bucketInfo"): ("GetBucketInfo", bucket.info),
            ("GET", "location"): ("GetBucketLocation", bucket.location),
            ("GET", "stat"): ("GetBucketStat", bucket.stat),
            ("GET", "acl"): ("GetBucketAcl", bucket.acl),
            ("PUT", "acl"): ("PutBucketAcl", bucket.set_acl),
            ("POST", ""): ("PostObject", bucket.post_object),
            ("POST", "delete"): ("DeleteMultipleObjects", bucket.delete_objects),
            ("GET", "uploads"): ("ListMultipartUploads", upload.list_uploads),
            **{("GET", name): (f"GetBucket ?{name}", bucket.unset) for name in (*UNSET, *EMPTY)},
        }
        self._object: Table = {
            ("PUT", ""): ("PutObject", each.put),
            ("GET", ""): ("GetObject", each.get),
            ("HEAD", ""): ("HeadObject", each.head),
            ("DELETE", ""): ("DeleteObject", each.delete),
            ("HEAD", "objectMeta"): ("GetObjectMeta", each.meta),
            ("GET", "objectMeta"): ("GetObjectMeta", each.meta),
            ("POST", "append"): ("AppendObject", each.append),
            ("GET", "acl"): ("GetObjectACL", each.acl),
            ("PUT", "acl"): ("PutObjectACL", each.set_acl),
            ("GET", "tagging"): ("GetObjectTagging", each.tagging),
            ("PUT", "tagging"): ("PutObjectTagging", each.set_tagging),
            ("DELETE", "tagging"): ("DeleteObjectTagging", each.delete_tagging),
            ("GET", "symlink"): ("GetSymlink", each.symlink),
            ("PUT", "symlink"): ("PutSymlink", each.put_symlink),
            ("POST", "uploads"): ("InitiateMultipartUpload", upload.start),
            ("PUT", "uploadId"): ("UploadPart", upload.put_part),
            ("GET", "uploadId"): ("ListParts", upload.list_parts),
            ("POST", "uploadId"): ("CompleteMultipartUpload", upload.complete),
            ("DELETE", "uploadId"): ("AbortMultipartUpload", upload.abort),
        }

    @property
    def tables(self) -> tuple[Table, Table, Table]:
        """Return the operations on the account, on buckets and on objects."""
        return self._account, self._bucket, self._object

    def find(self, call: Call) -> tuple[str, Handler]:
        """Return the operation a request names, and what runs it.

        Raises: OperationNotSupported for one of the cloud's that is not served, MethodNotAllowed.
        """
        place = call.place
        table = self._object if place.key else self._bucket if place.bucket else self._account
        method = call.request.method
        named = choosing(call.query)
        for name in named:
            if (method, name) not in table:
                raise OperationNotSupported(operation=f"{method} ?{name}")
        found = table.get((method, named[0] if named else ""))
        if found is None:
            raise MethodNotAllowed
        return found
