"""What a function's configuration says about the program it brings: command, health check, container. Pure.

Source: Function Compute API references, customRuntimeConfig, customContainerConfig, customHealthCheckConfig.
"""

import json

from emulator.services.fc.model import FunctionConfig
from emulator.services.fc.runtime.model import Container, HealthCheck


def command_of(config: FunctionConfig) -> tuple[str, ...]:
    """Return the command line of a custom runtime, empty when it is the default one."""
    runtime = config.custom_runtime or {}
    return (*(runtime.get("command") or ()), *(runtime.get("args") or ()))


def health_check_of(config: FunctionConfig) -> HealthCheck | None:
    """Return the health check of a custom runtime or container, in whichever place a generation has it."""
    inside = (config.custom_runtime or {}, config.custom_container or {})
    found = config.health_check or next(
        (each["healthCheckConfig"] for each in inside if "healthCheckConfig" in each), None
    )
    if not found or not found.get("httpGetUrl"):
        return None
    return HealthCheck(
        path=found["httpGetUrl"],
        initial_delay_s=found.get("initialDelaySeconds", 0),
        period_s=found.get("periodSeconds", 3),
        timeout_s=found.get("timeoutSeconds", 1),
        failure_threshold=found.get("failureThreshold", 3),
        success_threshold=found.get("successThreshold", 1),
    )


def container_of(config: FunctionConfig) -> Container | None:
    """Return the container a function runs in.

    Its ``command`` and ``args`` of 2.0, texts that hold JSON arrays, are what 3.0 calls ``entrypoint`` and ``command``.
    """
    found = config.custom_container
    if not found or not found.get("image"):
        return None
    command = found.get("command")
    if "entrypoint" in found or ("args" not in found and isinstance(command, list)):
        entrypoint, arguments = _words(found.get("entrypoint")), _words(command)
    else:
        entrypoint, arguments = _words(command), _words(found.get("args"))
    return Container(
        image=found["image"],
        entrypoint=entrypoint,
        command=arguments,
        web_server=found.get("webServerMode") is not False,
    )


def _words(value: object) -> tuple[str, ...]:
    """Return a list of texts as it is, and a text as the JSON array it holds, or as one word when it holds none."""
    if isinstance(value, str):
        try:
            parsed = json.loads(value) if value.strip() else []
        except ValueError:
            parsed = [value]
        value = parsed if isinstance(parsed, list) else [value]
    return tuple(str(word) for word in value) if isinstance(value, (list, tuple)) else ()
