"""The limits of the object store. Source: OSS "Limits and performance metrics", API reference."""

MIB = 1024 * 1024

REQUEST_BYTES = 128 * MIB
"""The largest body of one request. The cloud takes 5 GiB; here a body is held in memory until it has come whole."""

OBJECT_BYTES = 48 * 1024 * 1024 * MIB
"""The largest object, 48.8 TB in the cloud."""

BUCKETS = 100
BUCKET_NAME_LENGTHS = (3, 63)
OBJECT_NAME_BYTES = 1023

PAGE_DEFAULT = 100
PAGE = 1000
"""Entries of a list: the default and the maximum. Parts and uploads are listed 1000 at a time by default."""

METADATA_BYTES = 8 * 1024
TAGS = 10
TAG_KEY_LENGTH = 128
TAG_VALUE_LENGTH = 256
DELETED_AT_ONCE = 1000

PARTS = 10_000
PART_BYTES_LEAST = 100 * 1024
"""Every part but the last has at least this size."""

AT_ONCE_BYTES = MIB
"""Content up to this length is sent in one piece; longer content is read while it is sent."""

READ_BYTES = 256 * 1024
