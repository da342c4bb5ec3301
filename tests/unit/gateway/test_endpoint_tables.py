"""Every endpoint in the tables of the installed SDKs has a certificate made ahead and is one of the emulator's."""

import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from emulator.gateway.hosts import facts
from emulator.http.certificate_files import COMMON, REGIONS, leaf_of

PRODUCTS = {"fc", "fnf", "mns", "mns-open", "oss", "ram", "ros", "sts", "location"}
MODULES = (
    *("aliyunsdkfnf.endpoint", "aliyunsdkram.endpoint", "alibabacloud_fc20230330.client", "oss2.api"),
    *("alibabacloud_fc_open20210406.client", "alibabacloud_fnf20190315.client", "alibabacloud_mns_open20220119.client"),
    *("alibabacloud_ram20150501.client", "alibabacloud_sts20150401.client"),
)
ACCELERATED = ["oss-accelerate.aliyuncs.com", "oss-accelerate-overseas.aliyuncs.com", "cn-hangzhou.oss.aliyuncs.com"]
"""Further endpoints of the object store. Source: OSS, Regions and endpoints; Transfer acceleration."""

_HOST = re.compile(r"""["']([a-z0-9][a-z0-9.-]*\.aliyuncs\.com)["']""")


def texts(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the texts of a JSON document with the keys that lead there."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from texts(below, (*path, key))
    elif isinstance(value, str):
        yield path, value


def endpoints() -> list[str]:
    """Return the endpoints of these products, of every region, that the SDKs know."""
    core = find_spec("aliyunsdkcore")
    if core is None or core.origin is None:
        return []
    table = json.loads((Path(core.origin).parent / "data" / "endpoints.json").read_text(encoding="utf-8"))
    found = {
        text
        for path, text in texts(table)
        if text.endswith(".aliyuncs.com") and PRODUCTS & {key.lower() for key in path}
    }
    for name in MODULES:
        spec = find_spec(name) if find_spec(name.partition(".")[0]) else None
        if spec is not None and spec.origin is not None:
            found.update(_HOST.findall(Path(spec.origin).read_text(encoding="utf-8")))
    return sorted(found)


ENDPOINTS = [*endpoints(), *ACCELERATED]


def test_the_tables_are_found() -> None:
    """All products of the tables, so that the tests below compare something."""
    if find_spec("aliyunsdkcore") is None:
        pytest.skip("the SDKs are not installed")

    assert len(ENDPOINTS) > 60
    assert {"fc", "fnf", "oss", "ros", "sts"} <= {facts(host).service for host in ENDPOINTS}


@pytest.mark.parametrize("host", ENDPOINTS)
def test_an_endpoint_of_the_sdks_has_a_certificate_and_is_served(host: str) -> None:
    """The first handshake succeeds, and the name says what it is for, but for those that several services share."""
    assert leaf_of(host) in {COMMON, *REGIONS}
    assert facts(host).service or host == "ram.aliyuncs.com"


@pytest.mark.parametrize("host", [host for host in ENDPOINTS if facts(host).service == "oss"])
def test_a_bucket_at_an_endpoint_has_a_certificate_too(host: str) -> None:
    """Clients put the bucket in front."""
    assert leaf_of(f"my-bucket.{host}") in {COMMON, *REGIONS}
    assert facts(f"my-bucket.{host}") == facts(host)
