"""Documents of the object store as clients read them, and the ones they send."""

import pytest

from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Region
from emulator.oss import codec
from emulator.oss.codec import DECLARATION, Listing, Naming
from emulator.oss.errors import OssError
from emulator.oss.model import Attributes, Bucket, Conditions, Part, Piece, StoredObject, Upload
from emulator.wire.xml import parse

ACCOUNT = AccountId("1")
AT = Millis(1_700_000_000_123)
DATE = "2023-11-14T22:13:20.000Z"
BUCKET = Bucket(name="b", account=ACCOUNT, region=Region("cn-x"), created_at=AT)
PLAIN = Attributes(headers={}, metadata={}, tags={})
ETAG = '"E"'
OWNER = "<Owner><ID>1</ID><DisplayName>1</DisplayName></Owner>"
PLACE = (
    f"<CreationDate>{DATE}</CreationDate><ExtranetEndpoint>oss-cn-x.aliyuncs.com</ExtranetEndpoint>"
    "<IntranetEndpoint>oss-cn-x-internal.aliyuncs.com</IntranetEndpoint><Location>oss-cn-x</Location>"
    "<StorageClass>Standard</StorageClass>"
)


def an_object(key="a b", size=3, modified_at=AT):
    piece = Piece(content="c", size=size)
    return StoredObject(
        key=key, kind="Normal", pieces=(piece,), etag="E", crc=7, modified_at=modified_at, attributes=PLAIN, target=""
    )  # fmt: skip


def a_listing(encoding="", delimiter="", after="", limit=2):
    return Listing(bucket=BUCKET, prefix="", delimiter=delimiter, after=after, limit=limit, naming=Naming(encoding))


def written(element):
    """Return a document without its declaration, the blanks between elements and the elements that are empty."""
    text = codec.rendered(element).decode()
    assert text.startswith(DECLARATION)
    return "".join(line.strip() for line in text.removeprefix(DECLARATION).splitlines())


def test_an_answer_is_xml():
    """Truth values are in small letters, ETags in quotes."""
    answer = codec.document(codec.text("A", True))

    assert (answer.status, answer.headers) == (200, [("Content-Type", "application/xml")])
    assert answer.body.decode().endswith("<A>true</A>")
    assert codec.quoted("E") == '"E"'
    assert codec.base64_of_hex("00ff") == "AP8="


def test_buckets_are_listed_with_their_places():
    """The request is repeated while there is more to come."""
    entry = f"<Bucket>{PLACE}<Region>cn-x</Region><Name>b</Name></Bucket>"

    last = codec.buckets(ACCOUNT, [BUCKET], "p", "m", 1, "")
    first = codec.buckets(ACCOUNT, [BUCKET], "p", "m", 1, "c")

    assert written(last) == f"<ListAllMyBucketsResult>{OWNER}<Buckets>{entry}</Buckets></ListAllMyBucketsResult>"
    assert written(first) == (
        f"<ListAllMyBucketsResult>{OWNER}<Prefix>p</Prefix><Marker>m</Marker><MaxKeys>1</MaxKeys>"
        f"<IsTruncated>true</IsTruncated><NextMarker>c</NextMarker><Buckets>{entry}</Buckets></ListAllMyBucketsResult>"
    )


def test_a_bucket_and_what_it_holds():
    """Attributes, settings and counters; the time of the counters is in seconds."""
    about = written(codec.bucket_info(BUCKET, [codec.text("AccessMonitor", "Disabled")]))
    counted = codec.bucket_stat(10, 2, 1, AT)

    assert about.startswith(f"<BucketInfo><Bucket>{PLACE}<Name>b</Name>{OWNER}")
    assert "<AccessControlList><Grant>private</Grant></AccessControlList>" in about
    assert about.endswith("<AccessMonitor>Disabled</AccessMonitor></Bucket></BucketInfo>")
    numbers = ("Storage", "ObjectCount", "MultipartUploadCount", "LastModifiedTime")
    assert [counted.text_of(name) for name in numbers] == ["10", "2", "1", "1700000000"]


def test_an_acl_names_the_owner():
    """Who that is, and what others may do."""
    assert written(codec.grant(ACCOUNT, "private")) == (
        f"<AccessControlPolicy>{OWNER}<AccessControlList><Grant>private</Grant></AccessControlList>"
        "</AccessControlPolicy>"
    )


@pytest.mark.parametrize(("encoding", "key"), [("", "a b"), ("url", "a%20b")])
def test_objects_are_listed_with_their_owner(encoding, key):
    """Names are encoded when the request asks for it, and the answer says so; prefixes come last."""
    page = ["d/", an_object()]

    listed = codec.objects_v1(a_listing(encoding, "/"), page, "a b")

    assert listed.text_of("NextMarker") == key
    assert listed.text_of("EncodingType") == (encoding or None)
    assert listed.text_of("IsTruncated") == "true"
    assert written(listed).endswith(
        f"<Contents><Key>{key}</Key><LastModified>{DATE}</LastModified><ETag>{ETAG}</ETag><Type>Normal</Type>"
        f"<Size>3</Size><StorageClass>Standard</StorageClass>{OWNER}</Contents>"
        f"<CommonPrefixes><Prefix>{'d%2F' if encoding else 'd/'}</Prefix></CommonPrefixes></ListBucketResult>"
    )


@pytest.mark.parametrize(
    ("token", "more", "owned"), [("", "", False), ("now", "then", True)], ids=["whole list", "page"]
)
def test_the_second_form_of_a_list_has_tokens(token, more, owned):
    """Owners only on demand; the markers of the first form are not there."""
    listed = codec.objects_v2(a_listing(after="a"), [an_object()], token, more, owned=owned)

    assert [listed.text_of(name) for name in ("StartAfter", "KeyCount", "Marker")] == ["a", "1", None]
    assert (listed.text_of("ContinuationToken") or "", listed.text_of("NextContinuationToken") or "") == (token, more)
    assert listed.text_of("IsTruncated") == str(bool(more)).lower()
    assert (listed.all("Contents")[0].find("Owner") is not None) is owned


def test_a_copy_has_time_and_etag():
    """Under the name of its operation."""
    copied = codec.copied("CopyPartResult", "E", AT)

    assert (copied.name, copied.text_of("LastModified"), copied.text_of("ETag")) == ("CopyPartResult", DATE, '"E"')


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<Delete><Object><Key>a</Key></Object></Delete>", (["a"], False)),
        (b"<Delete><Quiet> True </Quiet><Object><Key>a</Key></Object><Object><Key>b</Key></Object></Delete>",
         (["a", "b"], True)),
    ],
)  # fmt: skip
def test_deletions_are_read(body, expected):
    """Whether the answer is to be empty is said once."""
    assert codec.read_deletion(parse(body)) == expected


@pytest.mark.parametrize(
    ("read", "body", "code"),
    [
        (codec.read_deletion, b"<Delete/>", "MalformedXML"),
        (codec.read_deletion, b"<Delete><Object><Key></Key></Object></Delete>", "MalformedXML"),
        (codec.read_deletion, b"<Delete>" + b"<Object><Key>a</Key></Object>" * 1001 + b"</Delete>", "MalformedXML"),
        (codec.read_tagging, b"<Tagging/>", "MalformedXML"),
        (codec.read_tagging, b"<Tagging><TagSet><Tag><Value>v</Value></Tag></TagSet></Tagging>", "InvalidTag"),
        (codec.read_completion, b"<CompleteMultipartUpload/>", "MalformedXML"),
        (codec.read_completion, b"<C><Part><PartNumber>x</PartNumber><ETag>e</ETag></Part></C>", "MalformedXML"),
        (codec.read_completion, b"<C><Part><PartNumber>1</PartNumber></Part></C>", "MalformedXML"),
    ],
)
def test_documents_that_are_refused(read, body, code):
    """Nothing is deleted, tagged or completed then."""
    with pytest.raises(OssError) as caught:
        read(parse(body))

    assert caught.value.code == code


def test_tags_come_back_as_they_were():
    """In their order; a value may be empty."""
    tags = {"team": "a", "free": ""}

    assert codec.read_tagging(parse(codec.rendered(codec.tagging(tags)))) == tags


def test_deleted_names_are_encoded_on_demand():
    """The answer says so."""
    assert written(codec.deleted(["a/b"], Naming("url"))) == (
        "<DeleteResult><EncodingType>url</EncodingType><Deleted><Key>a%2Fb</Key></Deleted></DeleteResult>"
    )


def test_an_upload_from_its_start_to_its_end():
    """Its id, its parts, and the object it becomes."""
    upload = Upload(id="u", key="k", attributes=PLAIN, started_at=AT)
    part = Part(number=2, piece=Piece(content="c", size=3), etag="E", crc=7, modified_at=AT)

    started = codec.upload_started("b", upload, Naming(""))
    listed = codec.parts("b", upload, [part], 1, 10, more=False)
    empty = codec.parts("b", upload, [], 1, 10, more=False)
    wanted = codec.read_completion(parse(b'<C><Part><PartNumber> 2 </PartNumber><ETag>"E"</ETag></Part></C>'))
    done = codec.completed("http://h/b/k", "b", an_object("k"), Naming(""))

    assert [started.text_of(name) for name in ("Bucket", "Key", "UploadId")] == ["b", "k", "u"]
    assert [each.text_of("PartNumber") for each in listed.all("Part")] == ["2"]
    assert (listed.text_of("NextPartNumberMarker"), empty.text_of("NextPartNumberMarker")) == ("2", "1")
    assert wanted == [(2, '"E"')]
    assert [done.text_of(name) for name in ("Location", "Key", "ETag")] == ["http://h/b/k", "k", '"E"']


@pytest.mark.parametrize("more", [None, ("k", "u")], ids=["whole list", "page"])
def test_uploads_are_listed_with_common_prefixes(more):
    """Key and id of the last one lead to the next page."""
    upload = Upload(id="u", key="k", attributes=PLAIN, started_at=AT)

    listed = codec.uploads(a_listing(delimiter="/"), "", [upload, "d/"], more)

    assert [each.text_of("Initiated") for each in listed.all("Upload")] == [DATE]
    assert [each.text_of("Prefix") for each in listed.all("CommonPrefixes")] == ["d/"]
    assert (listed.text_of("NextKeyMarker") or "", listed.text_of("NextUploadIdMarker") or "") == (more or ("", ""))
    assert listed.text_of("IsTruncated") == str(more is not None).lower()


LATER = Millis(AT + 1000)


def refusal(conditions):
    """Return the error that reading an object under *conditions* ends with, None when it may be read."""
    try:
        conditions.check(an_object())
    except OssError as error:
        return error.name
    return None


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (Conditions(), None),
        (Conditions(match="E"), None),
        (Conditions(match="*"), None),
        (Conditions(match="other"), "PreconditionFailed"),
        (Conditions(unmodified_since=AT), None),
        (Conditions(unmodified_since=Millis(AT - 1000)), "PreconditionFailed"),
        (Conditions(none_match="E"), "NotModified"),
        (Conditions(none_match="other", modified_since=LATER), None),
        (Conditions(modified_since=LATER), "NotModified"),
        (Conditions(modified_since=Millis(AT - 1000)), None),
    ],
)
def test_conditions_of_a_read(conditions, code):
    """Times count by the second; an ETag takes precedence over a time."""
    assert refusal(conditions) == code
