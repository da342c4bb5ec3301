"""Host names."""

import pytest

from emulator.gateway.hosts import HostFacts, HostPolicy, facts, normalise


@pytest.mark.parametrize(
    ("raw", "host"),
    [
        ("LocalHost:8868", "localhost"),
        ("http://127.0.0.1:8868", "127.0.0.1"),
        ("https://x.fnf.aliyuncs.com/", "x.fnf.aliyuncs.com"),
        ("fcv3.cn-hangzhou.aliyuncs.com\t", "fcv3.cn-hangzhou.aliyuncs.com"),
        ("[::1]:8868", "::1"),
        ("::1", "::1"),
        ("cn-hangzhou.fnf.aliyuncs.com.", "cn-hangzhou.fnf.aliyuncs.com"),
    ],
)
def test_odd_host_headers_are_normalised(raw, host):
    """Some official clients put a scheme, a tab or a slash into Host."""
    assert normalise(raw) == host


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("123.mns.cn-hangzhou.aliyuncs.com", HostFacts("mns", "123", "cn-hangzhou")),
        ("123.mns.cn-hangzhou-internal-vpc.aliyuncs.com", HostFacts("mns", "123", "cn-hangzhou")),
        ("123.mns-intranet.cn-hangzhou.aliyuncs.com", HostFacts("mns", "123", "cn-hangzhou")),
        ("123.cn-shanghai.fc.aliyuncs.com", HostFacts("fc", "123", "cn-shanghai")),
        ("123.cn-shanghai-internal.fc.aliyuncs.com", HostFacts("fc", "123", "cn-shanghai")),
        ("account-id.cn-hangzhou.fc.aliyuncs.com", HostFacts("fc", "", "cn-hangzhou")),
        ("cn-hangzhou.fc.aliyuncs.com", HostFacts("fc", "", "cn-hangzhou")),
        ("fcv3.ap-southeast-1.aliyuncs.com", HostFacts("fc", "", "ap-southeast-1")),
        ("fc.cn-beijing.aliyuncs.com", HostFacts("fc", "", "cn-beijing")),
        ("fc.aliyuncs.com", HostFacts("fc", "", "")),
        ("hello-abc.cn-hangzhou.fcapp.run", HostFacts("fc", "", "cn-hangzhou")),
        ("cn-hangzhou.fnf.aliyuncs.com", HostFacts("fnf", "", "cn-hangzhou")),
        ("cn-shanghai.region.localhost", HostFacts("", "", "cn-shanghai")),
        ("a.b.region.localhost", HostFacts()),
        ("region.localhost", HostFacts()),
        ("cn-shanghai.localhost", HostFacts()),
        ("cn-hangzhou-internal.fnf.aliyuncs.com", HostFacts("fnf", "", "cn-hangzhou")),
        ("123.cn-hangzhou.fnf.aliyuncs.com", HostFacts("fnf", "123", "cn-hangzhou")),
        ("fnf.eu-central-1.aliyuncs.com", HostFacts("fnf", "", "eu-central-1")),
        ("mns-open.cn-hangzhou.aliyuncs.com", HostFacts("mns-open", "", "cn-hangzhou")),
        ("sts.aliyuncs.com", HostFacts("sts", "", "")),
        ("sts-vpc.cn-hangzhou.aliyuncs.com", HostFacts("sts", "", "cn-hangzhou")),
        ("ros.aliyuncs.com", HostFacts("ros", "", "")),
        ("location-readonly.aliyuncs.com", HostFacts("location", "", "")),
        ("bucket.oss-cn-hangzhou.aliyuncs.com", HostFacts("oss", "", "cn-hangzhou")),
        ("oss-cn-hangzhou-internal.aliyuncs.com", HostFacts("oss", "", "cn-hangzhou")),
        ("cn-hangzhou.oss.aliyuncs.com", HostFacts("oss", "", "cn-hangzhou")),
        ("bucket.cn-hangzhou.oss.aliyuncs.com", HostFacts("oss", "", "cn-hangzhou")),
        ("bucket.oss-accelerate.aliyuncs.com", HostFacts("oss", "", "")),
        ("oss-accelerate-overseas.aliyuncs.com", HostFacts("oss", "", "")),
        ("localhost", HostFacts()),
    ],
)
def test_endpoints_of_the_sdks_tell_service_account_and_region(host, told):
    """Every host pattern of the SDKs' endpoint tables is read."""
    assert facts(host) == told


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "a.localhost",
        "127.0.0.1",
        "127.9.9.9",
        "::1",
        "x.aliyuncs.com",
        "f.cn-hangzhou.fcapp.run",
        "my.domain",
    ],
)
def test_loopback_emulated_and_named_hosts_are_served(host):
    """Nothing else needs to be."""
    assert HostPolicy(["my.domain"]).allows(host)


@pytest.mark.parametrize(
    "host",
    ["", "evil.com", "aliyuncs.com.evil.com", "192.168.1.5", "localhost.evil.com", "evilaliyuncs.com", "fe80::1"],
)
def test_foreign_hosts_are_not(host):
    """A name the attacker owns, rebound to loopback, is refused."""
    assert not HostPolicy().allows(host)


def test_listening_widely_accepts_addresses_but_no_foreign_names():
    """Rebinding needs a name."""
    policy = HostPolicy(wide=True)

    assert policy.allows("192.168.1.5")
    assert not policy.allows("evil.com")


def test_names_are_allowed_and_forgotten_at_run_time():
    """A refusal is not remembered once the name belongs to a front, nor the other way round."""
    policy = HostPolicy()
    before = policy.allows("shop.example")

    policy.allow("Shop.Example", "fc")
    during = (policy.allows("shop.example"), policy.front_of("shop.example"))
    policy.forget("shop.example")

    assert (before, during) == (False, (True, "fc"))
    assert not policy.allows("shop.example")
    assert policy.front_of("shop.example") == ""


def test_names_below_fc_localhost_are_for_functions():
    """Whether or not there is such a function."""
    assert [HostPolicy().front_of(name) for name in ("a.fc.localhost", "fc.localhost", "localhost")] == ["fc", "", ""]
