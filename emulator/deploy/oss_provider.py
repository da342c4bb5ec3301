"""Buckets of the object store, through its own API."""

from dataclasses import replace

from emulator.deploy.errors import Refused
from emulator.deploy.model import Resource
from emulator.deploy.provider import ActualState, ApiClient, Attributes, Content, Identity, is_not_there, same
from emulator.wire.xml import Element, parse, render


class BucketProvider:
    """A bucket: its ACL can be changed, its storage class cannot."""

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Return what GetBucketInfo shows."""
        try:
            answer = parse(api.objects("GET", f"/{identity[0]}?bucketInfo"))
        except Refused as error:
            if is_not_there(error):
                return None
            raise
        bucket = answer.find("Bucket") or answer
        acl = bucket.find("AccessControlList")
        content = {
            "AccessControl": acl.text_of("Grant") if acl is not None else None,
            "StorageClass": bucket.text_of("StorageClass"),
            "DeletionForce": attributes.get("DeletionForce") == "true",
        }
        return ActualState(content)

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """PutBucket."""
        properties = resource.properties
        settings = Element("CreateBucketConfiguration", children=[Element("StorageClass", properties["StorageClass"])])
        acl = {"x-oss-acl": str(properties["AccessControl"])}
        api.objects("PUT", f"/{resource.identity[0]}", render(settings), acl)
        return ActualState(dict(properties))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """PutBucketAcl."""
        acl = str(resource.properties["AccessControl"])
        if acl != actual.content.get("AccessControl"):
            api.objects("PUT", f"/{resource.identity[0]}?acl", b"", {"x-oss-acl": acl})
        return ActualState(dict(resource.properties))

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """DeleteBucket, with ``DeletionForce`` after all its objects."""
        name = identity[0]
        try:
            if attributes.get("DeletionForce") == "true":
                self._empty(api, name)
            api.objects("DELETE", f"/{name}")
        except Refused as error:
            if not is_not_there(error):
                raise

    @staticmethod
    def _empty(api: ApiClient, name: str) -> None:
        while True:
            listing = parse(api.objects("GET", f"/{name}?max-keys=1000&encoding-type=url"))
            keys = [each.text_of("Key") for each in listing.all("Contents")]
            for key in keys:
                api.objects("DELETE", f"/{name}/{key}")
            if not keys:
                return

    def differs(self, resource: Resource, actual: ActualState) -> bool:
        """Compare what can be changed."""
        return any(not same(resource.properties[name], actual.content.get(name)) for name in resource.properties)

    def is_fixed(self, resource: Resource, actual: ActualState) -> bool:
        """Compare what cannot be changed."""
        return not same(resource.properties["StorageClass"], actual.content.get("StorageClass"))

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Keep the settings; the objects of a bucket that was removed are gone."""
        del api
        return replace(resource, properties=dict(actual.content))

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Set the ACL that the bucket had."""
        self.update(api, saved, actual)

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return how the bucket is to be removed."""
        content: Content = actual.content
        return {"DeletionForce": "true" if content.get("DeletionForce") else "false"}
