"""The limits and default values of Function Compute.

Names, payload sizes and the ranges of single fields are enforced; how many resources of a kind an account may have is
not, because those quotas can be raised in the cloud and would only get in the way here.

Source: the vendor's limits page and parameter tables; SDK model comments.
"""

from emulator.kernel.clock import DAY, HOUR, SECOND
from emulator.kernel.paging import Range

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

TRIGGER_NAME_LENGTH = 128
TRIGGERS_PER_BUCKET = 10
CRON_LENGTH = 512
FILTER_TAG_LENGTH = 16
DOMAIN_NAME_LENGTH = 240
ROUTES = 100
ROUTE_PATH_LENGTH = 512
REWRITE_RULES = 50
REWRITE_RULE_LENGTH = 512
LAYER_NAME_LENGTH = 128
LICENSE_LENGTH = 256
COMPATIBLE_RUNTIMES = 20

HTTP_HEADER_BYTES = {"2.0": 4 * KIB, "3.0": 8 * KIB}
HTTP_BODY_BYTES = {"2.0": 6 * MIB, "3.0": 32 * MIB}
HTTP_TARGET_BYTES = 4 * KIB
HTTP_RESPONSE_HEADER_BYTES = 8 * KIB

LIST = Range(1, 100, 20)
TAGS_PER_CALL = Range(1, 20, 1)
TAG_KEY_LENGTH = 128
TAG_VALUE_LENGTH = 256

SYNC_PAYLOAD_BYTES = 32 * MIB
ASYNC_PAYLOAD_BYTES = 128 * KIB
RESPONSE_BYTES = 32 * MIB
LOG_TAIL_BYTES = 4 * KIB

CODE_PACKAGE_BYTES = 100 * MIB
CODE_OBJECT_BYTES = 500 * MIB
"""The largest package in a bucket; the former is for packages that come with the request."""
REQUEST_BYTES = 140 * MIB  # a package at its limit in base64, and the rest of the JSON
CODE_UNPACKED_BYTES = 1024 * MIB
CODE_ENTRIES = 50_000

CODE_URL_LIFE_S = 600
UPLOAD_KEYS_LIFE_S = 3600
CODE_SWEPT_AFTER_START_S = 30
CODE_KEPT_AFTER_USE_S = 900
"""How long an unused package stays on disk, for calls that are still in it."""

ASYNC_AGE_S = Range(1, 2_592_000, 86_400)  # one page says 604800
ASYNC_RETRIES = Range(0, 8, 3)
ASYNC_RETRY_DELAY_MS = 1 * SECOND
"""The pause after a function's first failure; it doubles. Assumed."""
ASYNC_BACKOFF_MS = SECOND // 2
ASYNC_BACKOFF_TOTAL_MS = 5 * HOUR
ASYNC_CONCURRENCY = 20
"""How many queued calls of one function and qualifier run at once; the cloud has room for more than one machine."""
ASYNC_ID_LENGTH = 128
TASK_KEPT_MS = 7 * DAY
"""How long the record of a task stays after its end. Assumed."""
KEYED_CALL_KEPT_MS = DAY
"""How long a repeated hand-over of the same call is noticed after its end."""
TASK_PAYLOAD_BYTES = 1 * MIB

INSTANCE_TARGET = Range(0, 10_000, 0)
PROVISIONED_INSTANCES = 50
"""How many instances this machine keeps ready for all functions; more would leave none for the others' calls."""
RESERVED_CONCURRENCY = Range(0, 10_000, 0)
INSTANCE_LIST = Range(0, 1000, 20)
POLICY_NAME_LENGTH = 128

SESSION_TTL_S = Range(1, 21_600, 21_600)
SESSION_IDLE_S = Range(0, 21_600, 1_800)
SESSIONS_PER_INSTANCE = Range(1, 200, 20)
SESSION_LIST = Range(1, 100, 20)
SESSION_KEPT_MS = 3 * DAY
"""How long the record of a session stays after its end, and a reuse that it forbids is refused."""
SNAPSHOT_LIST = Range(1, 100, 20)
SNAPSHOT_DESCRIPTION_BYTES = 256
ISOLATION_CPU = 2
SSE_PATH_LENGTH = 512
POLICIES = 100
