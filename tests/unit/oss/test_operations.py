"""Operations of the object store through its front: one plain request each, and what the next one reads back."""

import asyncio
import base64
import hashlib
import json
import threading

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Principal, Region
from emulator.kernel.ids import CountingIds
from emulator.oss import limits
from emulator.oss.front import OssFront
from emulator.oss.service import SCHEMA, LazyStorage
from emulator.storage.database import Database
from emulator.storage.migration import migrate
from emulator.wire.request import OperationRequest
from emulator.wire.xml import parse
from tests.waiting import until

pytest.importorskip("moto.s3.models")

NOW = Millis(1_700_000_000_000)


class Store:
    """A store behind its front, and a bucket ``box``: ``await store.ask("PUT", "/box/key", b"body", name=value)``."""

    def __init__(self, database, folder):
        storage = LazyStorage(database, folder, CountingIds(), home=Region("cn-home"), sync=False)
        self.front = OssFront(CountingIds(), storage)

    async def ask(self, method, target, body=b"", **headers):
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        call = OperationRequest(Request(method, target, Headers([("Host", "127.0.0.1"), *named]), body), NOW)
        call.principal = Principal(AccountId("1"), "key", "acs:ram::1:root")
        call.region, call.host = Region("cn-home"), "127.0.0.1"
        call.request_id = self.front.new_request_id(call)
        return await self.front.handle(call)

    async def xml(self, target, method="GET", body=b"", **headers):
        return parse((await self.ask(method, target, body, **headers)).body)

    async def headers(self, method, target, body=b"", **headers):
        return dict((await self.ask(method, target, body, **headers)).headers)

    async def refusal(self, method, target, body=b"", **headers):
        """Return the status and code of an error."""
        with pytest.raises(ServiceError) as caught:
            await self.ask(method, target, body, **headers)
        return caught.value.http_status, caught.value.code

    async def keys(self, target, element="Contents", member="Key"):
        return [each.text_of(member) for each in (await self.xml(target)).all(element)]


@pytest.fixture
async def store(tmp_path):
    database = Database(None)
    migrate(database, [SCHEMA])
    made = Store(database, tmp_path / "objects")
    await made.ask("PUT", "/box")
    yield made
    await made.front._storage.close()
    database.close()


async def test_a_bucket_shows_what_it_was_made_with(store):
    """Class and region stand in the body, the access list in a header."""
    settings = (
        b"<CreateBucketConfiguration><StorageClass>IA</StorageClass>"
        b"<LocationConstraint>oss-cn-far</LocationConstraint></CreateBucketConfiguration>"
    )

    made = await store.headers("PUT", "/other", settings, x_oss_acl="public-read")

    info = (await store.xml("/other?bucketInfo")).find("Bucket")
    assert made["Location"] == "/other"
    assert (info.text_of("StorageClass"), info.text_of("Location")) == ("IA", "oss-cn-far")
    assert info.find("AccessControlList").text_of("Grant") == "public-read"
    assert (await store.xml("/other?location")).text == "oss-cn-far"


async def test_the_access_list_of_a_bucket_is_changed(store):
    """By a header that has to be there."""
    await store.ask("PUT", "/box?acl", x_oss_acl="public-read-write")

    assert (await store.xml("/box?acl")).find("AccessControlList").text_of("Grant") == "public-read-write"
    assert await store.refusal("PUT", "/box?acl") == (400, "InvalidArgument")
    assert await store.refusal("PUT", "/box?acl", x_oss_acl="everybody") == (400, "InvalidArgument")


async def test_buckets_are_listed_in_pages(store):
    """The marker of one page begins the next."""
    for name in ("aaa", "ccc"):
        await store.ask("PUT", f"/{name}")

    async def names(query):
        listed = await store.xml(f"/?{query}")
        return [each.text_of("Name") for each in listed.find("Buckets").all("Bucket")], listed.text_of("NextMarker")

    assert await names("") == (["aaa", "box", "ccc"], None)
    assert await names("max-keys=2") == (["aaa", "box"], "box")
    assert await names("max-keys=2&marker=box") == (["ccc"], None)
    assert await names("prefix=c") == (["ccc"], None)
    assert await store.refusal("GET", "/?max-keys=0") == (400, "InvalidArgument")


@pytest.mark.parametrize("deleted", [("/box/key",), ("/box/key", "/box")], ids=["an object", "the bucket"])
async def test_statistics_are_of_the_moment_they_are_asked_for(store, deleted):
    """The threads that count come to it only after all has been deleted."""
    await store.ask("PUT", "/box/key", b"bytes")
    contents, go = (await store.front._storage.storage()).contents, threading.Event()
    for _ in range(2):
        contents._threads.submit(go.wait, 20)
    await until(lambda: contents._threads._work_queue.qsize() == 0)
    asked = asyncio.get_running_loop().create_task(store.xml("/box?stat"))
    await until(lambda: contents._threads._work_queue.qsize() > 0)

    for path in deleted:
        assert (await store.ask("DELETE", path)).status == 204
    go.set()

    stat = await asked
    assert [stat.text_of(name) for name in ("Storage", "ObjectCount")] == ["5", "1"]


async def test_a_bucket_with_objects_is_not_deleted(store):
    """Its figures say what is in it."""
    await store.ask("PUT", "/box/key", b"12345")
    await store.ask("POST", "/box/large?uploads")

    stat = await store.xml("/box?stat")

    assert [stat.text_of(name) for name in ("Storage", "ObjectCount", "MultipartUploadCount")] == ["5", "1", "1"]
    assert await store.refusal("DELETE", "/box") == (409, "BucketNotEmpty")
    await store.ask("PUT", "/empty")
    assert (await store.ask("DELETE", "/empty")).status == 204
    assert await store.refusal("GET", "/empty?bucketInfo") == (404, "NoSuchBucket")


@pytest.mark.parametrize(
    ("method", "target", "code"),
    [
        ("GET", "/box?wormId", "OperationNotSupported"),
        ("POST", "/box/key", "MethodNotAllowed"),
        ("PUT", "/B_", "InvalidBucketName"),
        ("PUT", "/none/key", "NoSuchBucket"),
        ("GET", "/box/none", "NoSuchKey"),
        ("GET", "/box/none?acl", "NoSuchKey"),
        ("GET", "/box/none?symlink", "NoSuchKey"),
        ("POST", "/box/key?append", "InvalidArgument"),
    ],
)
async def test_requests_that_mean_nothing_are_refused(store, method, target, code):
    """Each with the service's code."""
    assert (await store.refusal(method, target))[1] == code


@pytest.mark.parametrize(
    ("name", "document", "unset"),
    [
        ("cors", b"<CORSConfiguration><CORSRule>r</CORSRule></CORSConfiguration>", "NoSuchCORSConfiguration"),
        ("lifecycle", b"<LifecycleConfiguration><Rule>r</Rule></LifecycleConfiguration>", "NoSuchLifecycle"),
        ("website", b"<WebsiteConfiguration><Index>i</Index></WebsiteConfiguration>", "NoSuchWebsiteConfiguration"),
        ("policy", b'{"Version": "1", "Statement": []}', "NoSuchBucketPolicy"),
    ],
)
async def test_a_setting_is_kept_as_it_was_sent(store, name, document, unset):
    """Until it is deleted, twice if somebody wants to."""
    assert (await store.refusal("GET", f"/box?{name}"))[1] == unset

    await store.ask("PUT", f"/box?{name}", document)

    kept = (await store.ask("GET", f"/box?{name}")).body
    assert kept.replace(b"\n", b"").replace(b"  ", b"").endswith(document)
    for _ in range(2):
        assert (await store.ask("DELETE", f"/box?{name}")).status == 204
    assert (await store.refusal("GET", f"/box?{name}"))[1] == unset


@pytest.mark.parametrize(
    ("name", "document", "code"),
    [
        ("cors", b"<CORSConfiguration/>", "MalformedXML"),
        ("cors", b"<Other/>", "MalformedXML"),
        ("cors", b"no XML", "MalformedXML"),
        ("policy", b"[]", "InvalidPolicyDocument"),
        ("policy", b"{", "InvalidPolicyDocument"),
    ],
)
async def test_a_bad_setting_is_refused(store, name, document, code):
    """And not kept."""
    assert await store.refusal("PUT", f"/box?{name}", document) == (400, code)
    assert (await store.refusal("GET", f"/box?{name}"))[0] == 404


async def test_a_fresh_bucket_has_settings_of_its_own(store):
    """Some are documents, such as who pays; tags go one by one."""
    tags = "".join(f"<Tag><Key>{key}</Key><Value>v</Value></Tag>" for key in "abc")
    await store.ask("PUT", "/box?tagging", f"<Tagging><TagSet>{tags}</TagSet></Tagging>".encode())

    await store.ask("DELETE", "/box?tagging=a,c")

    assert (await store.xml("/box?requestPayment")).text_of("Payer") == "BucketOwner"
    assert (await store.xml("/box?cname")).text_of("Bucket") == "box"
    assert [each.text_of("Key") for each in (await store.xml("/box?tagging")).find("TagSet").all("Tag")] == ["b"]


async def test_a_setting_that_cannot_be_deleted_is_put_again(store):
    """The versions of TLS of a bucket: a fresh one has none."""
    document = (
        b"<HttpsConfiguration><TLS><Enable>true</Enable><TLSVersion>TLSv1.2</TLSVersion></TLS></HttpsConfiguration>"
    )
    assert await store.refusal("GET", "/box?httpsConfig") == (404, "NoSuchHttpsConfig")

    for enabled in (b"true", b"false"):
        await store.ask("PUT", "/box?httpsConfig", document.replace(b"true", enabled))

    assert (await store.xml("/box?httpsConfig")).find("TLS").text_of("Enable") == "false"
    assert (await store.refusal("DELETE", "/box?httpsConfig"))[1] == "OperationNotSupported"
    assert (await store.refusal("PUT", "/box?userDefinedLogFieldsConfig"))[1] == "OperationNotSupported"


async def test_an_object_is_read_back_with_what_was_sent(store):
    """Content, kept headers, metadata and tags; its age and checksums come with it."""
    written = await store.headers(
        "PUT", "/box/a/key", b"content", content_type="text/plain", cache_control="no-cache", x_oss_meta_k="v",
        x_oss_tagging="t=1&u=", x_oss_object_acl="private", x_oss_storage_class="IA",
    )  # fmt: skip

    answer = await store.ask("GET", "/box/a/key")
    read = dict(answer.headers)
    assert answer.body == b"content"
    assert written["ETag"] == read["ETag"] == f'"{hashlib.md5(b"content").hexdigest().upper()}"'
    assert (read["Content-Type"], read["Cache-Control"], read["x-oss-meta-k"]) == ("text/plain", "no-cache", "v")
    assert (read["x-oss-storage-class"], read["x-oss-tagging-count"]) == ("IA", "2")
    head, meta = await store.headers("HEAD", "/box/a/key"), await store.headers("HEAD", "/box/a/key?objectMeta")
    assert (head["Content-Length"], meta["Content-Length"], meta["ETag"]) == ("7", "7", read["ETag"])
    assert (await store.xml("/box/a/key?acl")).find("AccessControlList").text_of("Grant") == "private"


@pytest.mark.parametrize(
    ("headers", "status", "body"),
    [
        ({"range": "bytes=1-3"}, 206, b"123"),
        ({"range": "bytes=-2"}, 206, b"89"),
        ({"range": "bytes=7-"}, 206, b"789"),
        ({"range": "bytes=5-99"}, 200, b"0123456789"),
        ({"range": "bytes=5-99", "x_oss_range_behavior": "standard"}, 206, b"56789"),
        ({"range": "lines=1-3"}, 200, b"0123456789"),
    ],
)
async def test_a_stretch_is_read(store, headers, status, body):
    """One beyond the end is ignored, unless the client asks for what the standard says."""
    await store.ask("PUT", "/box/key", b"0123456789")

    answer = await store.ask("GET", "/box/key", **headers)

    assert (answer.status, answer.body) == (status, body)


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"if_match": '"nothing"'}, (412, "PreconditionFailed")),
        ({"if_unmodified_since": "Mon, 01 Jan 2001 00:00:00 GMT"}, (412, "PreconditionFailed")),
        ({"if_none_match": '"9A0364B9E99BB480DD25E1F0284C8555"'}, (304, "NotModified")),
        ({"if_modified_since": "Fri, 01 Jan 2100 00:00:00 GMT"}, (304, "NotModified")),
    ],
)
async def test_conditions_decide_whether_an_object_is_sent(store, headers, refused):
    """By ETag and by age."""
    await store.ask("PUT", "/box/key", b"content")

    assert await store.refusal("GET", "/box/key", **headers) == refused
    assert (await store.ask("GET", "/box/key", if_modified_since="no date")).body == b"content"


async def test_a_reader_chooses_headers_of_the_answer(store):
    """In the query."""
    await store.ask("PUT", "/box/key", b"x")

    read = await store.headers("GET", "/box/key?response-content-type=text%2Fcsv&response-expires=never")

    assert (read["Content-Type"], read["Expires"]) == ("text/csv", "never")
    assert await store.refusal("GET", "/box/key?response-content-type=a%0D%0Ab") == (400, "InvalidArgument")


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"content_md5": base64.b64encode(b"x" * 16).decode()}, "InvalidDigest"),
        ({"content_md5": "short"}, "InvalidDigest"),
        ({"x_oss_object_acl": "everybody"}, "InvalidArgument"),
        ({"x_oss_storage_class": "Gold"}, "InvalidArgument"),
        ({"x_oss_tagging": "a=1&a=2"}, "InvalidTag"),
        ({"x_oss_meta_k": "v" * (limits.METADATA_BYTES + 1)}, "InvalidArgument"),
        ({"x_oss_copy_source": "/box"}, "InvalidArgument"),
    ],
)
async def test_a_bad_upload_is_refused(store, headers, code):
    """And leaves nothing."""
    assert await store.refusal("PUT", "/box/key", b"content", **headers) == (400, code)
    assert await store.keys("/box") == []


async def test_an_object_is_not_replaced_when_the_writer_forbids_it(store):
    await store.ask("PUT", "/box/key", b"first")

    assert await store.refusal("PUT", "/box/key", b"x", x_oss_forbid_overwrite="true") == (409, "FileAlreadyExists")
    assert (await store.ask("GET", "/box/key")).body == b"first"


async def test_a_copy_takes_over_what_is_not_replaced(store):
    """Directives say what the request's own headers replace; the source may be conditional."""
    await store.ask("PUT", "/box/key", b"content", x_oss_meta_k="old", x_oss_tagging="t=1")
    source = {"x_oss_copy_source": "/box/key"}

    await store.ask("PUT", "/box/same", **source, x_oss_meta_k="new")
    await store.ask("PUT", "/box/own", **source, x_oss_meta_k="new", x_oss_metadata_directive="REPLACE",
                    x_oss_tagging_directive="REPLACE", x_oss_storage_class="IA")  # fmt: skip

    same, own = await store.headers("GET", "/box/same"), await store.headers("GET", "/box/own")
    assert (same["x-oss-meta-k"], same["x-oss-tagging-count"]) == ("old", "1")
    assert (own["x-oss-meta-k"], own.get("x-oss-tagging-count"), own["x-oss-storage-class"]) == ("new", None, "IA")
    assert (await store.ask("GET", "/box/own")).body == b"content"
    refused = await store.refusal("PUT", "/box/none", **source, x_oss_copy_source_if_match='"x"')
    assert refused == (412, "PreconditionFailed")


async def test_an_object_grows_at_its_end(store):
    """The position is its length, and other objects do not grow."""
    first = await store.headers("POST", "/box/log?append&position=0", b"one ")
    await store.ask("POST", "/box/log?append&position=4", b"two")
    await store.ask("PUT", "/box/plain", b"x")

    assert first["x-oss-next-append-position"] == "4"
    assert (await store.ask("GET", "/box/log")).body == b"one two"
    assert await store.refusal("POST", "/box/log?append&position=4", b"x") == (409, "PositionNotEqualToLength")
    assert await store.refusal("POST", "/box/plain?append&position=1", b"x") == (409, "ObjectNotAppendable")


async def test_a_link_leads_to_its_target(store):
    """Which need not be there; what is no link has no target."""
    await store.ask("PUT", "/box/link?symlink", x_oss_symlink_target="the%20target")

    assert await store.refusal("GET", "/box/link") == (404, "NoSuchKey")
    await store.ask("PUT", "/box/the%20target", b"content")
    assert (await store.ask("GET", "/box/link")).body == b"content"
    assert (await store.headers("GET", "/box/link?symlink"))["x-oss-symlink-target"] == "the%20target"
    assert await store.refusal("GET", "/box/the%20target?symlink") == (404, "NoSuchKey")


async def test_access_list_and_tags_of_an_object_are_changed(store):
    """Its content stays."""
    await store.ask("PUT", "/box/key", b"content")

    await store.ask("PUT", "/box/key?acl", x_oss_object_acl="public-read")
    tag = b"<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>"
    await store.ask("PUT", "/box/key?tagging", tag)

    assert (await store.xml("/box/key?acl")).find("AccessControlList").text_of("Grant") == "public-read"
    [shown] = (await store.xml("/box/key?tagging")).find("TagSet").all("Tag")
    assert (shown.text_of("Key"), shown.text_of("Value")) == ("k", "v")
    await store.ask("DELETE", "/box/key?tagging")
    assert (await store.xml("/box/key?tagging")).find("TagSet").all("Tag") == []
    assert await store.refusal("PUT", "/box/key?tagging", b"<Tagging/>") == (400, "MalformedXML")
    assert (await store.ask("GET", "/box/key")).body == b"content"


async def test_objects_are_deleted_one_by_one_and_together(store):
    """What is not there is as good as deleted; a quiet request has an empty answer."""
    for key in ("a", "b", "c", "d"):
        await store.ask("PUT", f"/box/{key}", b"x")
    some = b"<Delete><Object><Key>a</Key></Object><Object><Key>none</Key></Object></Delete>"

    assert (await store.ask("DELETE", "/box/d")).status == (await store.ask("DELETE", "/box/d")).status == 204
    deleted = await store.xml("/box?delete", "POST", some)
    quiet = await store.ask("POST", "/box?delete", b"<Delete><Quiet>true</Quiet><Object><Key>b</Key></Object></Delete>")

    assert [each.text_of("Key") for each in deleted.all("Deleted")] == ["a", "none"]
    assert quiet.body == b""
    assert await store.keys("/box") == ["c"]
    wrong = base64.b64encode(b"x" * 16).decode()
    assert await store.refusal("POST", "/box?delete", some, content_md5=wrong) == (400, "InvalidDigest")
    assert await store.refusal("POST", "/box?delete", b"<Delete/>") == (400, "MalformedXML")


async def test_objects_are_listed_by_name_prefix_and_page(store):
    """In both forms of the list; names may come encoded."""
    for key in ("a/1", "a/2", "b", "c%20d"):
        await store.ask("PUT", f"/box/{key}", b"x")

    assert await store.keys("/box?prefix=a/") == ["a/1", "a/2"]
    assert await store.keys("/box?delimiter=/", "CommonPrefixes", "Prefix") == ["a/"]
    assert await store.keys("/box?marker=a/2&encoding-type=url") == ["b", "c%20d"]
    first = await store.xml("/box?list-type=2&max-keys=3&fetch-owner=true")
    assert [each.text_of("Key") for each in first.all("Contents")] == ["a/1", "a/2", "b"]
    assert first.all("Contents")[0].find("Owner").text_of("ID") == "1"
    token = first.text_of("NextContinuationToken")
    assert await store.keys(f"/box?list-type=2&continuation-token={token}") == ["c d"]
    assert await store.keys("/box?list-type=2&start-after=b") == ["c d"]
    assert await store.refusal("GET", "/box?list-type=2&continuation-token=%21") == (400, "InvalidArgument")


async def start(store, key="large", **headers):
    begun = await store.xml(f"/box/{key}?uploads", "POST", **headers)
    return f"/box/{key}?uploadId={begun.text_of('UploadId')}"


def completion(*parts):
    rows = "".join(f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>" for number, etag in parts)
    return f"<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>".encode()


async def test_parts_become_one_object(store):
    """In the order of their numbers; a part may be copied from another object."""
    large = b"x" * limits.PART_BYTES_LEAST
    await store.ask("PUT", "/box/source", b"0123456789")
    upload = await start(store, content_type="text/plain")
    first = (await store.headers("PUT", f"{upload}&partNumber=1", large))["ETag"]
    copied = await store.xml(
        f"{upload}&partNumber=2", "PUT", x_oss_copy_source="/box/source", x_oss_copy_source_range="bytes=2-4"
    )

    listed = await store.xml(f"{upload}&max-parts=1")
    made = await store.xml(upload, "POST", completion((1, first), (2, copied.text_of("ETag"))))

    assert (len(listed.all("Part")), listed.text_of("IsTruncated")) == (1, "true")
    assert made.text_of("Key") == "large"
    answer = await store.ask("GET", "/box/large")
    assert (answer.body, dict(answer.headers)["Content-Type"]) == (large + b"234", "text/plain")
    assert await store.refusal("GET", upload) == (404, "NoSuchUpload")


async def test_all_parts_are_taken_when_the_request_says_so(store):
    upload = await start(store)
    await store.ask("PUT", f"{upload}&partNumber=7", b"the only one")

    await store.ask("POST", upload, x_oss_complete_all="yes")

    assert (await store.ask("GET", "/box/large")).body == b"the only one"


async def test_parts_that_do_not_fit_are_refused(store):
    """A small one that is not the last, a wrong order, an unknown one; the upload goes on."""
    upload = await start(store)
    etags = [(await store.headers("PUT", f"{upload}&partNumber={number}", b"x"))["ETag"] for number in (1, 2)]

    async def refused(*parts):
        return (await store.refusal("POST", upload, completion(*parts)))[1]

    assert await refused((1, etags[0]), (2, etags[1])) == "EntityTooSmall"
    assert await refused((2, etags[1]), (1, etags[0])) == "InvalidPartOrder"
    assert await refused((1, "other")) == "InvalidPart"
    assert await refused() == "MalformedXML"
    assert await store.refusal("PUT", f"{upload}&partNumber=0", b"x") == (400, "InvalidArgument")
    wrong = {"x_oss_copy_source": "/box/large", "x_oss_copy_source_range": "bytes=4-2"}
    assert (await store.refusal("PUT", f"{upload}&partNumber=3", **wrong))[0] in {400, 404}
    assert len((await store.xml(upload)).all("Part")) == 2


async def test_uploads_are_listed_and_given_up(store):
    """By key, with common prefixes, in pages."""
    first, second = await start(store, "a/one"), await start(store, "b")

    listed = await store.xml("/box?uploads&max-uploads=1")
    rest = await store.xml(f"/box?uploads&key-marker={listed.text_of('NextKeyMarker')}")

    assert [each.text_of("Key") for each in listed.all("Upload")] == ["a/one"]
    assert [each.text_of("Key") for each in rest.all("Upload")] == ["b"]
    assert await store.keys("/box?uploads&delimiter=/", "CommonPrefixes", "Prefix") == ["a/"]
    assert (await store.ask("DELETE", first)).status == 204
    assert await store.keys("/box?uploads", "Upload") == ["b"]
    assert await store.refusal("DELETE", second.replace("/box/b?", "/box/other?")) == (404, "NoSuchUpload")


def a_form(conditions, /, *, file=True, **fields):
    fields = {"key": "up/${filename}", "policy": base64.b64encode(json.dumps(conditions).encode()).decode(), **fields}
    parts = [f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in fields.items()]
    if file:
        parts.append('--x\r\nContent-Disposition: form-data; name="file"; filename="C:\\\\n.txt"\r\n'
                     "Content-Type: text/plain\r\n\r\nhello\r\n")  # fmt: skip
    return "".join([*parts, "--x--\r\n"]).encode()


FORM = {"content_type": "multipart/form-data; boundary=x"}


async def test_a_form_makes_an_object(store):
    """The name of the file may stand in its key; the answer is what the form asks for."""
    policy = {"conditions": [{"bucket": "box"}, ["starts-with", "$key", "up/"], ["content-length-range", 1, 9]]}

    plain = await store.ask("POST", "/box", a_form(policy), **FORM)
    created = await store.ask("POST", "/box", a_form(policy, success_action_status="201"), **FORM)
    led = await store.ask("POST", "/box", a_form(policy, success_action_redirect="http://h/?x"), **FORM)

    assert (plain.status, created.status, led.status) == (204, 201, 303)
    assert parse(created.body).text_of("Key") == "up/n.txt"
    assert dict(led.headers)["Location"].startswith("http://h/?x&bucket=box&key=up%2Fn.txt")
    assert (await store.ask("GET", "/box/up/n.txt")).body == b"hello"


@pytest.mark.parametrize(
    ("policy", "fields", "code"),
    [
        ({"conditions": [["eq", "$key", "other"]]}, {}, "AccessDenied"),
        ({"conditions": [["in", "$key", ["other"]]]}, {}, "AccessDenied"),
        ({"conditions": [["not-in", "$key", ["up/${filename}"]]]}, {}, "AccessDenied"),
        ({"conditions": [["content-length-range", 100, 200]]}, {}, "AccessDenied"),
        ({"conditions": [["like", "$key", "x"]]}, {}, "InvalidPolicyDocument"),
        ({}, {}, "InvalidPolicyDocument"),
        ({"conditions": []}, {"policy": "e30x!"}, "InvalidPolicyDocument"),
        ({"conditions": []}, {"key": ""}, "InvalidArgument"),
        ({"conditions": []}, {"file": False}, "InvalidArgument"),
    ],
)
async def test_a_form_that_its_policy_does_not_allow_is_refused(store, policy, fields, code):
    """And makes nothing."""
    assert (await store.refusal("POST", "/box", a_form(policy, **fields), **FORM))[1] == code
    assert await store.keys("/box") == []


async def test_the_first_key_of_a_form_names_the_object(store):
    """It is the one for which the right is checked."""
    await store.ask("POST", "/box", a_form({"conditions": []}, Key="up/other"), **FORM)

    assert await store.keys("/box") == ["up/n.txt"]


async def test_an_empty_referer_clears_the_list(store):
    """As the Go SDK writes it."""
    inside = "<AllowEmptyReferer>true</AllowEmptyReferer><RefererList>{}</RefererList>"
    listed = f"<RefererConfiguration>{inside}</RefererConfiguration>"
    await store.ask("PUT", "/box?referer", listed.format("<Referer>http://a</Referer>").encode())
    kept = await store.xml("/box?referer")
    await store.ask("PUT", "/box?referer", listed.format("<Referer></Referer>").encode())

    assert [each.text for each in kept.find("RefererList").all("Referer")] == ["http://a"]
    assert (await store.xml("/box?referer")).find("RefererList").children == []


async def test_headers_of_a_new_bucket_are_its_settings(store):
    """Its encryption and its resource group."""
    await store.ask(
        "PUT", "/sealed", x_oss_server_side_encryption="KMS", x_oss_server_side_encryption_key_id="key",
        x_oss_resource_group_id="rg-1",
    )  # fmt: skip

    rule = (await store.xml("/sealed?encryption")).find("ApplyServerSideEncryptionByDefault")
    assert (rule.text_of("SSEAlgorithm"), rule.text_of("KMSMasterKeyID")) == ("KMS", "key")
    assert (await store.xml("/sealed?resourceGroup")).text_of("ResourceGroupId") == "rg-1"
    assert await store.refusal("GET", "/box?encryption") == (404, "NoSuchServerSideEncryptionRule")
