"""The checksum is the one object storage computes, however long the input is."""

import pytest

from emulator.kernel.crc64 import _ONES, _by_bytes, checksum, combine, crc64


def test_published_check_value_comes_out():
    """The digits 1 to 9 give the check value of the XZ flavour."""
    assert crc64(b"123456789") == 11051210869376104954


def test_empty_input_has_checksum_zero():
    """Nothing has the checksum 0, as decimal text."""
    assert checksum(b"") == "0"


@pytest.mark.parametrize("size", [131_071, 131_072, 131_073, 163_840, 200_003])
def test_long_inputs_give_the_same_as_byte_by_byte(size: int):
    """The fast way for long inputs agrees with the plain one around its row and start lengths."""
    data = bytes((index * 131 + (index >> 7)) & 0xFF for index in range(size))

    assert crc64(data) == _by_bytes(data, _ONES) ^ _ONES


@pytest.mark.parametrize("cut", [0, 1, 9, 4096, 99_999, 100_000])
def test_checksum_of_two_parts_is_that_of_the_whole(cut: int):
    """Where the text was cut makes no difference, at its ends neither."""
    data = bytes((index * 37 + (index >> 5)) & 0xFF for index in range(100_000))

    assert combine(crc64(data[:cut]), crc64(data[cut:]), len(data) - cut) == crc64(data)


def test_xz_files_carry_the_same_checksum():
    """A checksum computed by the system's own library agrees."""
    lzma = pytest.importorskip("lzma")
    data = b"function code " * 1000

    packed = lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64)
    index_size = (int.from_bytes(packed[-8:-4], "little") + 1) * 4
    end = len(packed) - 12 - index_size

    assert int.from_bytes(packed[end - 8 : end], "little") == crc64(data)
