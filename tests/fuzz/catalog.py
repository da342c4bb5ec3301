"""What is fuzzed: the name of each target, its function and how long its inputs get.

A target is a plain function of bytes. It returns for input that the product takes or refuses as it should, and raises
for everything else: an exception that is not the module's own, two readings that differ, a text that does not read
back. Targets are imported when they are used, so that the engine can instrument the product first.
"""

import importlib
from collections.abc import Callable
from typing import NamedTuple


class Target(NamedTuple):
    """Where a target's function is, and the longest input the engine makes up, in bytes."""

    place: str
    longest: int = 2048

    def load(self) -> Callable[[bytes], None]:
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(f"tests.fuzz.targets.{module}"), name)


TARGETS = {
    "http-reader": Target("http:reader"),
    "http-protocol": Target("http:protocol", 1024),
    "http-sender": Target("http:sender", 512),
    "hosts": Target("http:hosts", 256),
    "xml": Target("messages:xml"),
    "mns-bodies": Target("messages:bodies"),
    "mns-texts": Target("messages:texts", 256),
    "flow": Target("flows:flow", 4096),
    "flow-document": Target("flows:document"),
    "condition": Target("flows:condition", 256),
    "mapping": Target("flows:mapping", 256),
    "machine": Target("machines:machine", 4096),
    "expression": Target("machines:expression", 256),
    "pattern": Target("machines:pattern", 256),
    "auth-mns": Target("signatures:mns"),
    "auth-fc": Target("signatures:fc"),
    "auth-oss": Target("signatures:oss"),
    "auth-acs3": Target("signatures:acs3"),
    "auth-roa": Target("signatures:roa"),
    "auth-rpc": Target("signatures:rpc"),
    "schedule": Target("schedules:schedule", 128),
    "dates": Target("schedules:dates", 64),
    "function-yml": Target("files:function_folder", 512),
    "localyun-yaml": Target("files:settings", 512),
    "zip": Target("files:package", 4096),
    "template": Target("deployment:template", 4096),
    "policy": Target("deployment:policy", 1024),
    "http-result": Target("functions:http_result", 1024),
    "frames": Target("functions:frames", 1024),
}
