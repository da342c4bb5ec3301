"""`oss2` as its users write it, against a running emulator: buckets, objects, lists, multipart uploads, errors."""

import gc
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import warnings
from base64 import b64encode
from itertools import count
from pathlib import Path

import pytest

oss2 = pytest.importorskip("oss2")
requests = pytest.importorskip("requests")
pytest.importorskip("moto.s3.models")

pytestmark = [
    pytest.mark.sdk,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # the collector may come before `leftovers`
]

ROOT = Path(__file__).parents[2]
_numbers = count()
PART = 100 * 1024


class Session(oss2.Session):
    """oss2 never ends answers without content (to HEAD, and 204), and with them their connections."""

    def do_request(self, req, timeout):
        response = super().do_request(req, timeout)
        if req.method == "HEAD" or response.status == 204:
            assert response.response.content == b""
        return response


SESSION = Session()


@pytest.fixture(autouse=True)
def leftovers():
    """Collect what oss2 leaves to the garbage collector in the test that left it: answers that failed half read."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def auths(emulator):
    key, secret = emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"]
    return {
        "v1": oss2.Auth(key, secret),
        "v2": oss2.AuthV2(key, secret),
        "v4": oss2.AuthV4(key, secret),
    }


def client_of(emulator, auth, name):
    """A client that signs with *auth*; all share one session, whose connections are closed in the end."""
    return oss2.Bucket(auth, emulator.url, name, region="cn-hangzhou", session=SESSION)


def bucket_of(emulator, name, auth="v1"):
    return client_of(emulator, auths(emulator)[auth], name)


def service_of(emulator, auth="v1"):
    return oss2.Service(auths(emulator)[auth], emulator.url, region="cn-hangzhou", session=SESSION)


@pytest.fixture(scope="module", autouse=True)
def closed_connections():
    yield
    SESSION.session.close()


@pytest.fixture
def bucket(emulator):
    """A new bucket; the name is new for each test."""
    made = bucket_of(emulator, f"test-{os.getpid()}-{next(_numbers)}")
    made.create_bucket()
    return made


def keys(listed):
    return [each.key for each in listed.object_list]


def md5(data):
    return hashlib.md5(data).hexdigest().upper()


def test_buckets_are_made_told_and_removed(emulator, bucket):
    """A bucket is in the list, tells about itself, and goes only when it is empty."""
    service = service_of(emulator)
    bucket.put_object("a", b"12345")

    info, stat = bucket.get_bucket_info(), bucket.get_bucket_stat()
    found = {each.name: each for each in oss2.BucketIterator(service, prefix=bucket.bucket_name)}
    with pytest.raises(oss2.exceptions.BucketNotEmpty):
        bucket.delete_bucket()
    bucket.delete_object("a")
    bucket.delete_bucket()

    assert (info.name, info.location, info.acl.grant) == (bucket.bucket_name, "oss-cn-hangzhou", "private")
    assert info.owner.id == emulator.keys["accountId"]
    assert bucket.bucket_name in found
    assert found[bucket.bucket_name].extranet_endpoint == "oss-cn-hangzhou.aliyuncs.com"
    assert (stat.object_count, stat.storage_size_in_bytes) == (1, 5)
    with pytest.raises(oss2.exceptions.NoSuchBucket):
        bucket.list_objects()
    assert bucket.bucket_name not in [each.name for each in oss2.BucketIterator(service)]


def test_buckets_are_listed_page_by_page(emulator):
    """Marker and prefix choose, the names come in order."""
    service = service_of(emulator, "v4")
    prefix = f"paged-{os.getpid()}-"
    for letter in "cab":
        bucket_of(emulator, prefix + letter).create_bucket()

    page = service.list_buckets(prefix=prefix, max_keys=2)
    rest = service.list_buckets(prefix=prefix, max_keys=2, marker=page.next_marker)

    assert [each.name for each in page.buckets] == [prefix + "a", prefix + "b"]
    assert (page.is_truncated, page.next_marker) == (True, prefix + "b")
    assert [each.name for each in rest.buckets] == [prefix + "c"]
    assert not rest.is_truncated


def test_location_acl_and_settings_that_were_never_made(bucket):
    """The ACL is kept; what cannot be set here is told as unset when read, and refused when written."""
    bucket.put_bucket_acl(oss2.BUCKET_ACL_PUBLIC_READ)

    assert bucket.get_bucket_acl().acl == "public-read"
    assert bucket.get_bucket_location().location == "oss-cn-hangzhou"
    assert bucket.get_bucket_versioning().status is None
    with pytest.raises(oss2.exceptions.NoSuchLifecycle):
        bucket.get_bucket_lifecycle()
    with pytest.raises(oss2.exceptions.NoSuchCors):
        bucket.get_bucket_cors()
    with pytest.raises(oss2.exceptions.OperationNotSupported):
        bucket.put_bucket_versioning(oss2.models.BucketVersioningConfig(oss2.BUCKET_VERSIONING_ENABLE))


def test_a_fresh_bucket_answers_every_setting(bucket):
    """As in the cloud: a document where there is one without a setting, else an error that says so."""
    assert bucket.get_bucket_referer().allow_empty_referer
    assert bucket.get_bucket_request_payment().payer == "BucketOwner"
    assert bucket.get_bucket_access_monitor().access_monitor.status == "Disabled"
    assert bucket.get_bucket_resource_group().resource_group_id.startswith("rg-")
    assert bucket.list_bucket_cname().cname == []
    assert bucket.list_bucket_inventory_configurations().inventory_configurations == []
    assert bucket.get_bucket_tagging().tag_set.tagging_rule == {}
    for read in (
        bucket.get_bucket_transfer_acceleration, bucket.get_bucket_website, bucket.get_bucket_policy,
        bucket.get_bucket_encryption,
    ):  # fmt: skip
        with pytest.raises(oss2.exceptions.ServerError, match="NoSuch"):
            read()


def test_settings_are_kept(bucket):
    """What was put is read back, and gone after its deletion."""
    models = oss2.models
    bucket.put_bucket_cors(models.BucketCors([models.CorsRule(["*"], ["GET"], [], [], 5)]))
    bucket.put_bucket_lifecycle(
        models.BucketLifecycle(
            [models.LifecycleRule("r", "p/", models.LifecycleRule.ENABLED, models.LifecycleExpiration(3))]
        )
    )
    bucket.put_bucket_website(models.BucketWebsite("index.html", "error.html"))
    bucket.put_bucket_referer(models.BucketReferer(False, ["http://a.example"]))
    bucket.put_bucket_encryption(models.ServerSideEncryptionRule(oss2.SERVER_SIDE_ENCRYPTION_AES256))
    bucket.put_bucket_transfer_acceleration("true")
    bucket.put_bucket_policy('{"Version": "1", "Statement": []}')
    tags = models.TaggingRule()
    tags.add("a", "1")
    tags.add("b", "2")
    bucket.put_bucket_tagging(models.Tagging(tags))

    assert bucket.get_bucket_cors().rules[0].max_age_seconds == 5
    assert bucket.get_bucket_lifecycle().rules[0].expiration.days == 3
    assert bucket.get_bucket_website().index_file == "index.html"
    assert bucket.get_bucket_referer().referers == ["http://a.example"]
    assert bucket.get_bucket_info().bucket_encryption_rule.sse_algorithm == oss2.SERVER_SIDE_ENCRYPTION_AES256
    assert bucket.get_bucket_transfer_acceleration().enabled == "true"
    assert bucket.get_bucket_policy().policy == '{"Version": "1", "Statement": []}'
    bucket.delete_bucket_tagging({"tagging": "a"})
    assert bucket.get_bucket_tagging().tag_set.tagging_rule == {"b": "2"}
    bucket.delete_bucket_cors()
    with pytest.raises(oss2.exceptions.NoSuchCors):
        bucket.get_bucket_cors()


def test_a_setting_of_another_form_is_refused(bucket):
    """A document without what the setting consists of."""
    with pytest.raises(oss2.exceptions.MalformedXml):
        bucket.put_bucket_cors(oss2.models.BucketCors([]))


@pytest.mark.parametrize("name", ["ab", "Upper", "under_score", "-front", "back-", "x" * 64])
def test_impossible_bucket_names_are_refused(emulator, name):
    """The server has the last word about names, whatever the client checks."""
    auth = auths(emulator)["v1"]
    request = oss2.http.Request("PUT", f"{emulator.url}/{name}", headers={})
    auth._sign_request(request, name, "")

    answer = requests.put(request.url, headers=dict(request.headers))

    assert (answer.status_code, "<Code>InvalidBucketName</Code>" in answer.text) == (400, True)


def test_making_a_bucket_again_is_no_error(bucket):
    """Its ACL changes only when one is given."""
    bucket.create_bucket(oss2.BUCKET_ACL_PUBLIC_READ)
    bucket.create_bucket()

    assert bucket.get_bucket_acl().acl == "public-read"


@pytest.mark.parametrize("auth", ["v1", "v2", "v4"])
@pytest.mark.parametrize("key", ["plain", "a/b c+d%20/é中.txt", "dir/", "with?question&and=1", "tilde~'()*!"])
def test_content_and_metadata_come_back_under_every_signature(emulator, bucket, auth, key):
    """oss2 compares the CRC of what it sent and got with the one in the answers."""
    client = bucket_of(emulator, bucket.bucket_name, auth)
    headers = {"x-oss-meta-Author": "me & you", "Content-Type": "text/x-test", "Cache-Control": "no-cache"}

    put = client.put_object(key, b"hello", headers=headers)
    got = client.get_object(key)

    assert got.read() == b"hello"
    assert put.etag == got.etag == md5(b"hello")
    assert put.crc == got.server_crc == got.client_crc
    assert got.content_type == "text/x-test"
    assert got.headers["x-oss-meta-author"] == "me & you"
    assert got.headers["Cache-Control"] == "no-cache"
    assert got.headers["ETag"] == f'"{md5(b"hello")}"'
    assert got.request_id == got.headers["x-oss-request-id"] != put.request_id
    assert keys(client.list_objects()) == [key]


def test_large_objects_are_streamed_and_read_by_ranges(bucket):
    """Ranges are inclusive; a range beyond the end gives everything unless the standard behaviour is asked for."""
    data = os.urandom(3_000_001)
    bucket.put_object("big", data)

    whole = bucket.get_object("big")
    assert whole.read() == data
    assert whole.content_length == len(data)
    assert bucket.get_object("big", byte_range=(10, 19)).read() == data[10:20]
    assert bucket.get_object("big", byte_range=(2_999_990, None)).read() == data[2_999_990:]
    assert bucket.get_object("big", byte_range=(None, 7)).read() == data[-7:]
    assert bucket.get_object("big", byte_range=(1, 2_900_000)).read() == data[1:2_900_001]
    part = bucket.get_object("big", byte_range=(0, 0))
    assert (part.status, part.read(), part.headers["Content-Range"]) == (206, data[:1], "bytes 0-0/3000001")
    beyond = bucket.get_object("big", byte_range=(2_999_999, 9_999_999))
    assert (beyond.status, len(beyond.read())) == (200, len(data))
    standard = {"x-oss-range-behavior": "standard"}
    cut = bucket.get_object("big", byte_range=(2_999_999, 9_999_999), headers=standard)
    assert (cut.status, cut.read()) == (206, data[-2:])
    with pytest.raises(oss2.exceptions.ServerError) as refused:
        bucket.get_object("big", byte_range=(9_999_999, None), headers=standard)
    assert (refused.value.status, refused.value.code) == (416, "InvalidRange")


def test_head_meta_and_existence(bucket):
    """All that GET tells is told without the content; what is missing is a 404 with a code even without a body."""
    bucket.put_object("a", b"12345", headers={"x-oss-meta-k": "v", "Content-Type": "text/plain"})

    head, meta = bucket.head_object("a"), bucket.get_object_meta("a")

    assert (head.content_length, head.etag, head.object_type) == (5, md5(b"12345"), "Normal")
    assert (head.content_type, head.headers["x-oss-meta-k"]) == ("text/plain", "v")
    assert (meta.content_length, meta.etag, meta.last_modified) == (5, head.etag, head.last_modified)
    assert "x-oss-meta-k" not in meta.headers
    assert bucket.object_exists("a")
    assert not bucket.object_exists("b")
    with pytest.raises(oss2.exceptions.NotFound) as missing:
        bucket.head_object("b")
    assert missing.value.code == "NoSuchKey"


def test_conditions_decide(bucket):
    """ETags and instants, on reading and on copying."""
    etag = bucket.put_object("a", b"1").etag
    later, earlier = "Fri, 01 Jan 2100 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"

    assert bucket.get_object("a", headers={"If-Match": f'"{etag}"', "If-Unmodified-Since": later}).read() == b"1"
    assert bucket.get_object("a", headers={"If-None-Match": "0" * 32, "If-Modified-Since": later}).read() == b"1"
    for refused in ({"If-Match": "0" * 32}, {"If-Unmodified-Since": earlier}):
        with pytest.raises(oss2.exceptions.PreconditionFailed):
            bucket.get_object("a", headers=refused)
    for same in ({"If-None-Match": etag}, {"If-Modified-Since": later}):
        with pytest.raises(oss2.exceptions.NotModified):
            bucket.get_object("a", headers=same)
    with pytest.raises(oss2.exceptions.PreconditionFailed):
        bucket.copy_object(bucket.bucket_name, "a", "b", headers={"x-oss-copy-source-if-match": "0" * 32})
    assert not bucket.object_exists("b")


def test_content_md5_and_overwriting_are_checked(bucket):
    """A wrong digest changes nothing; an object that may not be replaced stays."""
    bucket.put_object("a", b"1", headers={"Content-MD5": b64encode(hashlib.md5(b"1").digest()).decode()})

    with pytest.raises(oss2.exceptions.InvalidDigest):
        bucket.put_object("a", b"2", headers={"Content-MD5": b64encode(hashlib.md5(b"x").digest()).decode()})
    with pytest.raises(oss2.exceptions.ServerError) as there:
        bucket.put_object("a", b"3", headers={"x-oss-forbid-overwrite": "true"})

    assert (there.value.status, there.value.code) == (409, "FileAlreadyExists")
    assert bucket.get_object("a").read() == b"1"


def test_copies_keep_or_replace_metadata(emulator, bucket):
    """A copy has the source's content and headers unless it says otherwise; onto itself it changes metadata alone."""
    other = bucket_of(emulator, bucket.bucket_name + "-2")
    other.create_bucket()
    bucket.put_object("a b/é", b"content", headers={"x-oss-meta-k": "old", "Content-Type": "text/plain"})

    copied = other.copy_object(bucket.bucket_name, "a b/é", "c")
    replace = {"x-oss-metadata-directive": "REPLACE", "x-oss-meta-n": "new"}
    other.copy_object(bucket.bucket_name, "a b/é", "d", headers=replace)
    bucket.update_object_meta("a b/é", {"x-oss-meta-k": "newer"})
    bucket.delete_object("a b/é")

    assert copied.etag == md5(b"content")
    assert other.get_object("c").read() == other.get_object("d").read() == b"content"
    assert other.head_object("c").headers["x-oss-meta-k"] == "old"
    assert other.head_object("c").content_type == "text/plain"
    assert "x-oss-meta-k" not in other.head_object("d").headers
    assert other.head_object("d").headers["x-oss-meta-n"] == "new"
    with pytest.raises(oss2.exceptions.NoSuchKey):
        bucket.copy_object(bucket.bucket_name, "a b/é", "e")


def test_objects_grow_by_appending(bucket):
    """Each piece begins where the object ends; the CRC is that of the whole."""
    first = bucket.append_object("log", 0, b"one,", init_crc=0)
    second = bucket.append_object("log", first.next_position, b"two", init_crc=first.crc)
    bucket.put_object("plain", b"1")

    with pytest.raises(oss2.exceptions.PositionNotEqualToLength) as wrong:
        bucket.append_object("log", 1, b"x")
    with pytest.raises(oss2.exceptions.ObjectNotAppendable):
        bucket.append_object("plain", 1, b"x")

    assert (first.next_position, second.next_position, wrong.value.next_position) == (4, 7, 7)
    assert bucket.get_object("log").read() == b"one,two"
    assert bucket.get_object("log", byte_range=(2, 5)).read() == b"e,tw"
    assert bucket.head_object("log").object_type == "Appendable"


def test_acls_tags_and_links(bucket):
    """What hangs on an object is kept, changed and taken away without touching its content."""
    bucket.put_object("a", b"1", headers={"x-oss-tagging": "k=v&x=y%20z", "x-oss-object-acl": "public-read"})
    age = bucket.head_object("a").last_modified
    rule = oss2.models.TaggingRule()
    rule.add("colour", "blue & green")

    assert bucket.get_object_tagging("a").tag_set.tagging_rule == {"k": "v", "x": "y z"}
    assert bucket.get_object_acl("a").acl == "public-read"
    bucket.put_object_tagging("a", oss2.models.Tagging(rule))
    bucket.put_object_acl("a", oss2.OBJECT_ACL_PRIVATE)
    assert bucket.get_object_tagging("a").tag_set.tagging_rule == {"colour": "blue & green"}
    assert bucket.get_object_acl("a").acl == "private"
    bucket.delete_object_tagging("a")
    assert bucket.get_object_tagging("a").tag_set.tagging_rule == {}
    assert bucket.head_object("a").last_modified == age
    bucket.put_symlink("a", "link")
    assert bucket.get_symlink("link").target_key == "a"
    assert bucket.get_object("link").read() == b"1"


def test_objects_are_deleted_one_by_one_or_together(bucket):
    """Names of nothing are no error; the names in the answer survive every character XML allows."""
    names = ["a", "b/é&<", "c+d e"]
    for name in names:
        bucket.put_object(name, b"1")

    assert bucket.delete_object("nothing").status == 204
    deleted = bucket.batch_delete_objects([*names[:2], "nothing"])

    assert sorted(deleted.deleted_keys) == sorted([*names[:2], "nothing"])
    assert keys(bucket.list_objects()) == ["c+d e"]


@pytest.fixture
def tree(bucket):
    """A bucket with folders."""
    for name in ("a", "b/1", "b/2", "b/c/3", "d/4", "e"):
        bucket.put_object(name, b"1")
    return bucket


def test_lists_are_paged_and_folded(tree):
    """Prefixes and delimiters make folders; a page ends where it is full, folders counted."""
    folders = tree.list_objects(delimiter="/")
    inside = tree.list_objects(prefix="b/", delimiter="/")
    first = tree.list_objects(max_keys=2)
    rest = tree.list_objects(marker=first.next_marker, max_keys=100)
    folded = tree.list_objects(delimiter="/", max_keys=2)
    folded_rest = tree.list_objects(delimiter="/", marker=folded.next_marker)

    assert (keys(folders), folders.prefix_list) == (["a", "e"], ["b/", "d/"])
    assert (keys(inside), inside.prefix_list) == (["b/1", "b/2"], ["b/c/"])
    assert (keys(first), first.is_truncated, first.next_marker) == (["a", "b/1"], True, "b/1")
    assert keys(rest) == ["b/2", "b/c/3", "d/4", "e"]
    assert (keys(folded), folded.prefix_list, folded.next_marker) == (["a"], ["b/"], "b/")
    assert (keys(folded_rest), folded_rest.prefix_list) == (["e"], ["d/"])
    assert [each.key for each in oss2.ObjectIterator(tree, max_keys=1)] == ["a", "b/1", "b/2", "b/c/3", "d/4", "e"]


def test_lists_of_the_second_form_go_on_by_token(tree):
    """The token means nothing to the caller; owners come when asked for."""
    first = tree.list_objects_v2(max_keys=4, start_after="a", fetch_owner=True)
    rest = tree.list_objects_v2(max_keys=4, continuation_token=first.next_continuation_token)

    assert keys(first) == ["b/1", "b/2", "b/c/3", "d/4"]
    assert first.object_list[0].owner.id
    assert rest.object_list[0].owner is None
    assert (keys(rest), rest.is_truncated) == (["e"], False)
    assert [each.key for each in oss2.ObjectIteratorV2(tree, prefix="b", max_keys=1)] == ["b/1", "b/2", "b/c/3"]
    with pytest.raises(oss2.exceptions.InvalidArgument):
        tree.list_objects_v2(continuation_token="é")
    with pytest.raises(oss2.exceptions.InvalidArgument):
        tree.list_objects(max_keys=1001)


def test_multipart_upload_from_start_to_end(bucket):
    """Parts come in any order and replace each other; oss2 checks the CRC of the whole against its parts'."""
    data = os.urandom(2 * PART + 5)
    pieces = [data[:PART], data[PART : 2 * PART], data[2 * PART :]]
    upload = bucket.init_multipart_upload("m/é", headers={"x-oss-meta-k": "v", "Content-Type": "text/plain"}).upload_id
    bucket.upload_part("m/é", upload, 2, b"to be replaced")

    made = []
    for number in (3, 1, 2):
        put = bucket.upload_part("m/é", upload, number, pieces[number - 1])
        part_crc = put.crc
        made.append(oss2.models.PartInfo(number, put.etag, size=len(pieces[number - 1]), part_crc=part_crc))
    first_page = bucket.list_parts("m/é", upload, max_parts=2)
    listed = list(oss2.PartIterator(bucket, "m/é", upload))
    under_way = [each.key for each in oss2.MultipartUploadIterator(bucket)]
    done = bucket.complete_multipart_upload("m/é", upload, made)

    assert [(each.part_number, each.size) for each in listed] == [(1, PART), (2, PART), (3, 5)]
    assert (first_page.is_truncated, first_page.next_marker) == (True, "2")
    assert under_way == ["m/é"]
    assert done.etag.endswith("-3")
    got = bucket.get_object("m/é")
    assert got.read() == data
    assert (got.headers["x-oss-object-type"], got.headers["x-oss-meta-k"]) == ("Multipart", "v")
    assert bucket.get_object("m/é", byte_range=(PART - 2, PART + 1)).read() == data[PART - 2 : PART + 2]
    assert list(oss2.MultipartUploadIterator(bucket)) == []
    with pytest.raises(oss2.exceptions.NoSuchUpload):
        bucket.list_parts("m/é", upload)


def test_uploads_are_refused_as_documented(bucket):
    """A missing part, a wrong ETag, a part too small, and an upload that was aborted."""
    upload = bucket.init_multipart_upload("m").upload_id
    small = bucket.upload_part("m", upload, 1, b"small")
    last = bucket.upload_part("m", upload, 2, b"last")
    parts = [oss2.models.PartInfo(1, small.etag), oss2.models.PartInfo(2, last.etag)]

    def code(*parts):
        with pytest.raises(oss2.exceptions.ServerError) as refused:
            bucket.complete_multipart_upload("m", upload, list(parts))
        return refused.value.status, refused.value.code

    assert code(*parts) == (400, "EntityTooSmall")
    assert code(oss2.models.PartInfo(7, small.etag)) == (400, "InvalidPart")
    assert code(oss2.models.PartInfo(1, "0" * 32)) == (400, "InvalidPart")
    with pytest.raises(oss2.exceptions.InvalidArgument):
        bucket.upload_part("m", upload, 10_001, b"x")
    bucket.abort_multipart_upload("m", upload)
    assert code(*parts) == (404, "NoSuchUpload")
    assert not bucket.object_exists("m")


def test_parts_are_copied_from_objects(bucket):
    """A stretch of an object becomes a part."""
    data = os.urandom(PART + 10)
    bucket.put_object("source", data)
    upload = bucket.init_multipart_upload("m").upload_id

    one = bucket.upload_part_copy(bucket.bucket_name, "source", (0, PART - 1), "m", upload, 1)
    two = bucket.upload_part_copy(bucket.bucket_name, "source", (PART, PART + 9), "m", upload, 2)
    bucket.complete_multipart_upload(
        "m", upload, [oss2.models.PartInfo(1, one.etag), oss2.models.PartInfo(2, two.etag)], headers=None
    )

    assert bucket.get_object("m").read() == data


def test_resumable_transfers(bucket, tmp_path):
    """oss2's own upload in parts by threads, and its download by ranges."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(1_000_000))
    store = oss2.ResumableStore(root=str(tmp_path / "u"))
    downloads = oss2.ResumableDownloadStore(root=str(tmp_path / "d"))

    oss2.resumable_upload(
        bucket, "r", str(source), store=store, multipart_threshold=PART, part_size=2 * PART, num_threads=3
    )  # fmt: skip
    oss2.resumable_download(
        bucket, "r", str(target), store=downloads, multiget_threshold=PART, part_size=2 * PART, num_threads=3
    )  # fmt: skip

    assert target.read_bytes() == source.read_bytes()
    assert bucket.head_object("r").etag.endswith("-5")


@pytest.mark.parametrize("auth", ["v1", "v2", "v4"])
def test_signed_urls_put_and_get_until_they_expire(emulator, bucket, auth):
    """The URL is all that a program without keys needs; it can set headers of the answer."""
    client = bucket_of(emulator, bucket.bucket_name, auth)
    put = client.sign_url("PUT", "a b/é", 60, headers={"Content-Type": "text/plain"}, slash_safe=True)
    shown = {"response-content-type": "text/x-other", "response-content-disposition": 'attachment; filename="x"'}
    get = client.sign_url("GET", "a b/é", 60, params=dict(shown), slash_safe=True)

    assert requests.put(put, data=b"signed", headers={"Content-Type": "text/plain"}).status_code == 200
    answer = requests.get(get)
    refused = requests.get(get[:-3] + "xyz")

    assert answer.content == b"signed"
    assert answer.headers["Content-Type"] == "text/x-other"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="x"'
    assert refused.status_code == 403
    assert client.put_object_with_url(client.sign_url("PUT", "b", 60), b"2").status == 200


def test_wrong_keys_are_refused_with_their_codes(emulator, bucket):
    """A secret that is wrong and a key nobody has."""
    keys_ = emulator.keys
    for auth, code in (
        (oss2.Auth(keys_["accessKeyId"], "wrong"), "SignatureDoesNotMatch"),
        (oss2.AuthV4("nobody", "wrong"), "InvalidAccessKeyId"),
    ):
        stranger = client_of(emulator, auth, bucket.bucket_name)
        with pytest.raises(oss2.exceptions.ServerError) as refused:
            stranger.put_object("a", b"1")
        assert (refused.value.status, refused.value.code) == (403, code)
    assert keys(bucket.list_objects()) == []


def test_temporary_keys_sign_with_their_token(emulator, bucket):
    """An STS client reads and writes; without its token it is refused."""
    from alibabacloud_sts20150401.client import Client
    from alibabacloud_sts20150401.models import AssumeRoleRequest

    sts = Client(emulator.tea_config())
    arn = f"acs:ram::{emulator.keys['accountId']}:role/uploader"
    made = sts.assume_role(AssumeRoleRequest(role_arn=arn, role_session_name="uploader")).body.credentials
    temporary = (made.access_key_id, made.access_key_secret)

    client = client_of(emulator, oss2.StsAuth(*temporary, made.security_token), bucket.bucket_name)
    client.put_object("a", b"1")
    url = client.sign_url("GET", "a", 60)
    without = client_of(emulator, oss2.Auth(*temporary), bucket.bucket_name)

    assert client.get_object("a").read() == b"1"
    assert requests.get(url).content == b"1"
    with pytest.raises(oss2.exceptions.ServerError) as refused:
        without.get_object("a")
    assert refused.value.code == "InvalidAccessKeyId"


def test_public_objects_are_read_without_a_key(emulator, bucket):
    """By the bucket's host name; private ones, lists and removals stay closed."""
    host = {"Host": f"{bucket.bucket_name}.oss-cn-hangzhou.aliyuncs.com"}
    bucket.put_object("a", b"public", headers={"x-oss-object-acl": "public-read"})
    bucket.put_object("b", b"private")

    assert requests.get(f"{emulator.url}/a", headers=host).content == b"public"
    assert requests.get(f"{emulator.url}/b", headers=host).status_code == 403
    assert requests.get(f"{emulator.url}/", headers=host).status_code == 403
    assert requests.get(f"{emulator.url}/a?acl", headers=host).status_code == 403
    assert requests.put(f"{emulator.url}/c", data=b"x", headers=host).status_code == 403
    assert requests.delete(f"{emulator.url}/a", headers=host).status_code == 403
    bucket.put_bucket_acl(oss2.BUCKET_ACL_PUBLIC_READ_WRITE)
    assert requests.get(f"{emulator.url}/b", headers=host).content == b"private"
    assert requests.put(f"{emulator.url}/c", data=b"x", headers=host).status_code == 200


def test_a_bucket_of_another_region_is_told_where_it_is(emulator, bucket):
    """The endpoint in the answer is the one to use."""
    auth = auths(emulator)["v1"]
    request = oss2.http.Request("GET", emulator.url + "/", headers={"date": oss2.utils.http_date()})
    auth._sign_request(request, bucket.bucket_name, "")
    host = {"Host": f"{bucket.bucket_name}.oss-cn-shanghai.aliyuncs.com"}

    answer = requests.get(emulator.url + "/", headers={**request.headers, **host})

    assert answer.status_code == 403
    assert "<Endpoint>oss-cn-hangzhou.aliyuncs.com</Endpoint>" in answer.text


def test_all_of_it_survives_a_kill(new_emulator):
    """Objects, their headers, copies and uploads under way are there after kill -9; no file is left over."""
    running = new_emulator().start()
    client = bucket_of(running, "lasting")
    client.create_bucket()
    data = os.urandom(300_000)
    client.put_object("a", data, headers={"x-oss-meta-k": "v", "x-oss-tagging": "t=1"})
    client.copy_object("lasting", "a", "copy")
    client.put_object("gone", b"1")
    client.delete_object("gone")
    upload = client.init_multipart_upload("m").upload_id
    part = client.upload_part("m", upload, 1, b"part one")

    running.kill()
    running.start()
    client = bucket_of(running, "lasting")

    assert client.get_object("a").read() == client.get_object("copy").read() == data
    assert client.head_object("a").headers["x-oss-meta-k"] == "v"
    assert client.get_object_tagging("a").tag_set.tagging_rule == {"t": "1"}
    assert keys(client.list_objects()) == ["a", "copy"]
    client.complete_multipart_upload("m", upload, [oss2.models.PartInfo(1, part.etag)], headers=None)
    assert client.get_object("m").read() == b"part one"
    client.delete_object("a")
    assert client.get_object("copy").read() == data
    assert len([file for file in (running.state / "objects").rglob("*") if file.is_file()]) == 2
    assert running.stop() == 0


def test_nothing_of_it_is_loaded_before_the_first_call(new_emulator):
    """A start and an idle emulator have nothing of moto in memory; the first call brings it."""
    running = new_emulator(None, "--ephemeral")
    running.environment = {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT}"}  # not forked from one that has loaded everything
    running.start()
    maps = Path(f"/proc/{running.process.pid}/maps")
    if not maps.exists():
        pytest.skip("needs /proc")

    def resident_kb():
        status = Path(f"/proc/{running.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])

    before = resident_kb()
    client = bucket_of(running, "first")
    client.create_bucket()

    assert before < 60_000 < resident_kb() + 20_000


def test_without_the_extra_the_answer_tells_how_to_have_it(new_emulator, tmp_path):
    """A missing moto is a clear refusal in the service's form; the process goes on."""
    broken = tmp_path / "broken" / "moto"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('not installed')\n")
    running = new_emulator(None, "--ephemeral")
    running.environment = {"PYTHONPATH": os.pathsep.join([str(broken.parent), str(ROOT)])}
    running.start()
    client = bucket_of(running, "first")

    for _ in range(2):
        with pytest.raises(oss2.exceptions.OperationNotSupported) as refused:
            client.create_bucket()
        assert "pip install 'localyun[oss]'" in refused.value.details["Message"]


NODE = """
const OSS = require('ali-oss');
const [accessKeyId, accessKeySecret, endpoint, bucket] = process.argv.slice(1);
const client = new OSS({ accessKeyId, accessKeySecret, endpoint, region: 'oss-cn-hangzhou', AUTHORIZATION_V4 });
(async () => {
  await client.putBucket(bucket);
  client.useBucket(bucket);
  await client.put('a b/é', Buffer.from('from node'), { meta: { k: 'v' } });
  const got = await client.get('a b/é');
  const listed = await client.listV2({ prefix: 'a' });
  const head = await client.head('a b/é');
  await client.multipartUpload('m', Buffer.alloc(350 * 1024, 'x'), { partSize: 100 * 1024 });
  const size = (await client.head('m')).res.headers['content-length'];
  await client.deleteMulti(['a b/é', 'm']);
  const code = await client.get('a b/é').catch((error) => error.code);
  console.log(JSON.stringify([got.content.toString(), listed.objects[0].name, head.meta, size, code]));
  process.exit(0);
})().catch((error) => { console.error(error); process.exit(1); });
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
@pytest.mark.parametrize("v4", ["false", "true"], ids=["v1", "v4"])
def test_ali_oss_for_node_works(emulator, v4):
    """The same by the other official client."""
    if subprocess.run(["node", "-e", "require.resolve('ali-oss')"], capture_output=True, check=False).returncode:
        pytest.skip("needs ali-oss (python3 dev.py clients)")
    name = f"node-{os.getpid()}-{next(_numbers)}"
    code = NODE.replace("AUTHORIZATION_V4", f"authorizationV4: {v4}")

    done = subprocess.run(
        ["node", "-e", code, emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"], emulator.url, name],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    content, listed, meta, size, code = json.loads(done.stdout)
    assert (content, listed, meta, size, code) == ("from node", "a b/é", {"k": "v"}, str(350 * 1024), "NoSuchKey")


def form_for(emulator, bucket, *conditions, expires="2100-01-01T00:00:00.000Z", **fields):
    """Fields of a form that is signed as the documentation's samples do it."""
    policy = {"expiration": expires, "conditions": [{"bucket": bucket.bucket_name}, *conditions]}
    text = b64encode(json.dumps(policy).encode())
    secret = emulator.keys["accessKeySecret"].encode()
    signature = b64encode(hmac.new(secret, text, hashlib.sha1).digest())
    signed = {"OSSAccessKeyId": emulator.keys["accessKeyId"], "policy": text.decode(), "Signature": signature.decode()}
    return {**signed, **fields}


def test_forms_upload_files(emulator, bucket):
    """By path and by host name; the file's name can stand in the key, and the answer is what the form asks for."""
    url, host = f"{emulator.url}/{bucket.bucket_name}", f"{bucket.bucket_name}.oss-cn-hangzhou.aliyuncs.com"
    data = os.urandom(70_000) + b"\r\n--not the boundary"

    starts = ["starts-with", "$key", "in/"]
    form = form_for(emulator, bucket, starts, ["content-length-range", 1, 100_000], key="in/${filename}")
    plain = requests.post(url, data={**form, "x-oss-meta-k": "v"}, files={"file": ("é.png", data, "image/png")})
    form |= {"key": "in/b", "success_action_status": "201"}
    created = requests.post(emulator.url + "/", data=form, files={"file": ("b", b"1")}, headers={"Host": host})

    assert (plain.status_code, plain.headers["ETag"]) == (204, f'"{md5(data)}"')
    assert bucket.get_object("in/é.png").read() == data
    assert bucket.head_object("in/é.png").content_type == "image/png"
    assert bucket.head_object("in/é.png").headers["x-oss-meta-k"] == "v"
    assert (created.status_code, "<Key>in/b</Key>" in created.text) == (201, True)


def test_forms_that_the_policy_does_not_allow_are_refused(emulator, bucket):
    """Another name, too large a file, an expired policy, a wrong signature, no policy."""
    url, file = f"{emulator.url}/{bucket.bucket_name}", {"file": ("a", b"12345")}
    small = ["content-length-range", 0, 4]
    good = form_for(emulator, bucket, key="a")
    refused = [
        form_for(emulator, bucket, {"key": "b"}, key="a"),
        form_for(emulator, bucket, small, key="a"),
        form_for(emulator, bucket, key="a", expires="2020-01-01T00:00:00.000Z"),
        {**good, "Signature": "AAAA"},
        {"key": "a"},
    ]

    statuses = [requests.post(url, data=form, files=file).status_code for form in refused]
    unreadable = requests.post(url, data={**good, "policy": "e30="}, files=file)

    assert statuses == [403] * 5
    assert unreadable.status_code == 400
    assert keys(bucket.list_objects()) == []
    assert requests.post(url, data=good, files=file).status_code == 204


def test_what_no_header_can_hold_is_refused(emulator, bucket):
    """Line breaks of a form's field or of a signed query never reach an answer's head."""
    bucket.put_object("a", b"1")
    url = bucket.sign_url("GET", "a", 60, params={"response-content-type": "text/x\r\nInjected: 1"})
    posted = f"{emulator.url}/{bucket.bucket_name}"
    file = {"file": ("a", b"12345")}

    read = requests.get(url)
    forms = [
        requests.post(posted, data=form_for(emulator, bucket, key="b", **{name: value}), files=file).status_code
        for name, value in (("x-oss-meta-k", "v\r\nInjected: 1"), ("x-oss-meta-a b", "v"), ("Cache-Control", "a\nb"))
    ]

    assert (read.status_code, "<Code>InvalidArgument</Code>" in read.text) == (400, True)
    assert forms == [400] * 3
    assert keys(bucket.list_objects()) == ["a"]
