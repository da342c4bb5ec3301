"""Rules about names, ranges and what objects are made of."""

from hashlib import md5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.kernel.clock import Millis
from emulator.kernel.crc64 import crc64
from emulator.oss.errors import OssError
from emulator.oss.model import (
    Attributes,
    Content,
    Part,
    Piece,
    Span,
    StoredObject,
    appended,
    check_bucket_name,
    check_object_name,
    joined,
    slices,
    span_of,
)

PLAIN = Attributes(headers={}, metadata={}, tags={})


def refuses(check, name):
    """Tell whether *check* raises one of the store's errors for *name*."""
    try:
        check(name)
    except OssError:
        return True
    return False


@pytest.mark.parametrize("name", ["abc", "a-b", "0" * 63, "a--b"])
def test_bucket_names(name):
    """3 to 63 small letters, digits and inner hyphens."""
    assert not refuses(check_bucket_name, name)


@pytest.mark.parametrize("name", ["", "ab", "a" * 64, "-abc", "abc-", "aBc", "a_b", "a.b", "äbc", "abc\n"])
def test_impossible_bucket_names(name):
    """Everything else."""
    with pytest.raises(OssError, match=r"^InvalidBucketName:"):
        check_bucket_name(name)


@pytest.mark.parametrize("key", ["a", "a//b", "é" * 511, "a\\", " ", "x" * 1023])
def test_object_names(key):
    """Up to 1023 bytes."""
    assert not refuses(check_object_name, key)


@pytest.mark.parametrize("key", ["", "/a", "\\a", "é" * 512, "x" * 1024, "a\udc80"])
def test_impossible_object_names(key):
    """Too long, none at all, with a slash in front, or no UTF-8."""
    with pytest.raises(OssError, match=r"^InvalidObjectName:"):
        check_object_name(key)


@pytest.mark.parametrize(
    ("text", "lenient", "standard"),
    [
        ("bytes=0-9", (0, 10), (0, 10)),
        ("bytes=90-", (90, 100), (90, 100)),
        ("bytes=-10", (90, 100), (90, 100)),
        ("bytes=99-99", (99, 100), (99, 100)),
        ("bytes=90-200", None, (90, 100)),
        ("bytes=-200", None, None),
        ("bytes=5-4", None, None),
        ("bytes=-", None, None),
        ("bytes=a-b", None, None),
        ("lines=0-9", None, None),
        ("bytes=0-1,5-6", None, None),
        ("bytes=100-", None, "InvalidRange"),
        ("bytes=100-200", None, "InvalidRange"),
        ("bytes=-0", None, "InvalidRange"),
    ],
)
def test_ranges_over_a_hundred_bytes(text, lenient, standard):
    """What cannot be answered by a part is answered whole, unless the standard behaviour was asked for."""
    assert span_of(text, 100, standard=False) == (Span(*lenient) if lenient else None)
    if standard == "InvalidRange":
        with pytest.raises(OssError, match=r"^InvalidRange:"):
            span_of(text, 100, standard=True)
    else:
        assert span_of(text, 100, standard=True) == (Span(*standard) if standard else None)


@given(st.lists(st.binary(max_size=9), max_size=6), st.integers(0, 60), st.integers(0, 60))
def test_slices_of_pieces_are_the_slice_of_the_whole(texts, start, length):
    """Wherever the pieces meet."""
    kept = {str(number): text for number, text in enumerate(texts)}
    pieces = [Piece(content=name, size=len(text)) for name, text in kept.items()]
    whole = b"".join(texts)

    found = b"".join(
        kept[piece.content][part.start : part.end] for piece, part in slices(pieces, Span(start, start + length))
    )

    assert found == whole[start : start + length]


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=5))
def test_parts_make_one_object(texts):
    """The CRC is that of all bytes; the ETag tells how many parts there were."""
    parts = [
        Part(
            number=number, piece=Piece(content=str(number), size=len(text)), etag=md5(text).hexdigest().upper(),
            crc=crc64(text), modified_at=Millis(0),
        )
        for number, text in enumerate(texts, 1)
    ]  # fmt: skip

    pieces, etag, crc = joined(parts)

    assert pieces == tuple(part.piece for part in parts)
    assert etag.endswith(f"-{len(texts)}")
    assert crc == crc64(b"".join(texts))


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=5))
def test_appending_keeps_the_checksum_of_the_whole(texts):
    """However often something is appended."""
    stored = None
    for number, text in enumerate(texts):
        content = Content(piece=Piece(content=str(number), size=len(text)), md5=md5(text).digest(), crc=crc64(text))
        pieces, etag, crc = appended(stored, content)
        stored = StoredObject(
            key="k", kind="Appendable", pieces=pieces, etag=etag, crc=crc, modified_at=Millis(0), attributes=PLAIN
        )

    assert stored.size == len(b"".join(texts))
    assert stored.crc == crc64(b"".join(texts))
