"""The limits of resource access management.

Source: RAM, "Limits" and the API reference; those of the older reference are smaller.
"""

from emulator.kernel.paging import Range

USERS = 1_000
GROUPS = 300
ROLES = 1_000
POLICIES = 1_500
POLICY_VERSIONS = 5
ACCESS_KEYS = 2
GROUPS_OF_USER = 50
ATTACHED_SYSTEM = 20
ATTACHED_CUSTOM = 20

NAME_LENGTH = 64
POLICY_NAME_LENGTH = 128
DESCRIPTION_LENGTH = 1_024
COMMENTS_LENGTH = 128
DISPLAY_NAME_LENGTH = 128
CONTACT_LENGTH = 64
POLICY_LENGTH = 6_144
TRUST_LENGTH = 4_096

TAGS = 20
TAG_KEY_LENGTH = 128
TAG_VALUE_LENGTH = 128
TAGGED_AT_ONCE = 50

MAX_SESSION_S = Range(3_600, 43_200, 3_600)
PAGE = Range(1, 1_000, 100)
TAG_PAGE = Range(1, 100, 100)
TAG_POSITION = Range(0, 999_999_999, 0)
"""The range of positions in the token for the next page of tags."""

CACHED_KEYS = 2_048
