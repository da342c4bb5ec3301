"""Every number of Function Compute.

Names, payload sizes and the ranges of single fields are enforced; how many resources of a kind an account may have is
not, because those quotas can be raised in the cloud and would only get in the way here.

Source: the vendor's limits page and parameter tables; SDK model comments.
"""

from emulator.kernel.limits import Range

KIB = 1024
MIB = 1024 * KIB

SERVICE_NAME_LENGTH = 128
FUNCTION_NAME_LENGTH = 128  # the prose says 64, the published schema 128
ALIAS_NAME_LENGTH = 128
VERSION_ID_DIGITS = 10
DESCRIPTION_LENGTH = 256
HANDLER_LENGTH = 128
ROLE_LENGTH = 300
ENVIRONMENT_BYTES = 4 * KIB
LAYERS = 5
MOUNT_POINTS = 5

TIMEOUT_S = Range(1, 86_400, 3)
MEMORY_MB = Range(128, 32_768, 128)
MEMORY_STEP_MB = 64
CPU_STEP = 0.05
CPU_LOW, CPU_HIGH = 0.05, 16.0
DISK_MB = (512, 10_240)
GPU_DISK_MB = (512, 10_240, 61_440)
GPU_MEMORY_STEP_MB = 1024
INSTANCE_CONCURRENCY = Range(1, 200, 1)
INITIALIZATION_TIMEOUT_S = Range(1, 300, 3)
HOOK_TIMEOUT_S = Range(1, 90, 3)
PORT = Range(1, 65_535, 9000)
HEALTH_DELAY_S = Range(0, 120, 0)
HEALTH_PERIOD_S = Range(1, 120, 3)
HEALTH_TIMEOUT_S = Range(1, 3, 1)
HEALTH_FAILURES = Range(1, 120, 3)
HEALTH_SUCCESSES = Range(1, 120, 1)
HEALTH_URL_LENGTH = 2048

LIST = Range(1, 100, 20)
TAGS_PER_CALL = Range(1, 20, 1)
TAG_KEY_LENGTH = 128
TAG_VALUE_LENGTH = 256

SYNC_PAYLOAD_BYTES = 32 * MIB
ASYNC_PAYLOAD_BYTES = 128 * KIB
RESPONSE_BYTES = 32 * MIB
LOG_TAIL_BYTES = 4 * KIB

CODE_PACKAGE_BYTES = 100 * MIB
REQUEST_BYTES = 140 * MIB  # a package at its limit in base64, and the rest of the JSON
CODE_UNPACKED_BYTES = 1024 * MIB
CODE_ENTRIES = 50_000

CODE_URL_LIFE_S = 600
CODE_SWEPT_AFTER_START_S = 30
CODE_KEPT_AFTER_USE_S = 900
"""How long a package nobody refers to stays on disk, for calls that are still in it."""
