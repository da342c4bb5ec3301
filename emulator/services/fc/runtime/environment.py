"""The environment variables of an instance, built from nothing.

The developer's own variables stay outside, above all keys and proxies; only the search path for programs is taken over.

Source: Function Compute, environment variables; the published Python runtime for what is removed.
"""

import os

from emulator.services.fc.runtime.instance import Credentials, FunctionImage
from emulator.services.fc.runtime.settings import RuntimeSettings

RUNTIME_VERSION = "localyun"
"""``FC_RUNTIME_VERSION``: the version of the agent, whose form is not documented."""

LOG_LEVEL = "FC_SERVER_LOG_LEVEL"
"""A variable of the function that sets the level of the root logger; the agent reads and removes it."""

_RESERVED = frozenset(
    {
        "ALIBABA_CLOUD_ACCESS_KEY_ID",
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
        "ALIBABA_CLOUD_SECURITY_TOKEN",
        "accessKeyID",
        "accessKeySecret",
        "securityToken",
    }
)


def instance_environment(image: FunctionImage, instance_id: str, settings: RuntimeSettings) -> dict[str, str]:
    """Return the variables an instance of *image* starts with; the keys of its role come with each call.

    The function's own variables may replace ``PATH``, ``HOME`` and the like, but no reserved name.
    """
    scratch = "/tmp" if os.name == "posix" else os.environ.get("TEMP", ".")  # noqa: S108 - the platform's writable folder
    environment = {
        "PATH": os.pathsep.join([*(f"{layer}/bin" for layer in image.layers), os.environ.get("PATH", os.defpath)]),
        "HOME": scratch,
        "TMPDIR": scratch,
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": _library_path(image),
    }
    if "SYSTEMROOT" in os.environ:  # no process starts without it on Windows
        environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return environment | function_environment(image, instance_id) | dict(settings.extra_environment)


def shell_environment(
    image: FunctionImage, instance_id: str, settings: RuntimeSettings, keys: Credentials | None
) -> dict[str, str]:
    """Return the variables of a command that runs beside an instance."""
    environment = settings.add_hooks(instance_environment(image, instance_id, settings))
    if keys is not None and image.keys_in_environment:
        environment |= {
            "ALIBABA_CLOUD_ACCESS_KEY_ID": keys.access_key_id,
            "ALIBABA_CLOUD_ACCESS_KEY_SECRET": keys.access_key_secret,
            "ALIBABA_CLOUD_SECURITY_TOKEN": keys.security_token,
        }
    return environment


def function_environment(image: FunctionImage, instance_id: str) -> dict[str, str]:
    """Return the function's own variables, but for reserved names, and what the platform tells about it."""
    own = {
        name: value
        for name, value in image.environment.items()
        if not name.startswith(("FC_", "_FC_")) and name not in _RESERVED
    }
    return own | _platform_variables(image, instance_id)


def log_level(image: FunctionImage) -> str:
    """Return the level of the root logger."""
    return image.environment.get(LOG_LEVEL) or "INFO"


def _platform_variables(image: FunctionImage, instance_id: str) -> dict[str, str]:
    variables = {
        "FC_FUNC_CODE_PATH": str(image.code_dir),
        "FC_FUNCTION_NAME": image.function,
        "FC_FUNCTION_HANDLER": image.handler,
        "FC_FUNCTION_MEMORY_SIZE": str(image.memory_mb),
        "FC_VER_ID": image.version,
        "FC_FUNCTION_VERSION": image.version,
        "FC_QUALIFIER": image.version,
        "FC_REGION": image.region,
        "FC_ACCOUNT_ID": image.account,
        "FC_INSTANCE_ID": instance_id,
        "FC_RUNTIME_VERSION": RUNTIME_VERSION,
    }
    if image.service is not None:
        variables["FC_SERVICE_NAME"] = image.service
    return variables


def _library_path(image: FunctionImage) -> str:
    code = str(image.code_dir)
    return ":".join([code, f"{code}/lib", "/usr/local/lib", *(f"{layer}/lib" for layer in image.layers)])
