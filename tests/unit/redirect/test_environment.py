"""What is taken out of a command's environment, and what is put in front."""

import os
from pathlib import Path

import pytest

from emulator.http.proxy import forwarding_user
from emulator.redirect import python_site
from emulator.redirect.environment import allowing, with_hooks, without_proxies, without_real_keys, without_the_cloud


def test_proxies_are_taken_away_in_either_case():
    """All six names go; only those that hold something are told."""
    environ = {"HTTP_PROXY": "", "https_proxy": "http://p:1", "All_Proxy": "x", "NO_PROXY": "a", "HOME": "/h"}

    left, names = without_proxies(environ)

    assert left == {"NO_PROXY": "a", "HOME": "/h"}
    assert names == ["All_Proxy", "https_proxy"]


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"),
        ("AK_ID", "AK_SECRET"),
        ("ALICLOUD_ACCESS_KEY", "ALICLOUD_SECRET_KEY"),
        ("ALICLOUD_ACCESS_KEY_ID", "ALICLOUD_SECRET_KEY"),
    ],
)
def test_secret_goes_with_its_real_key(key, secret):
    """A key that looks real takes its secret with it, and leaves its neighbours."""
    environ = {key: " LTAI5tExample", secret: "hush", "OTHER_SECRET": "kept"}

    left, names = without_real_keys(environ)

    assert (left, names) == ({"OTHER_SECRET": "kept"}, [key])


def test_other_keys_stay():
    """Only the beginning of a value counts; a variable of Terraform's is what its file asks for."""
    environ = {"AK_ID": "LYUN12", "NOTE": "not LTAI", "TF_VAR_api_key": "LTAI5tExample"}

    assert without_real_keys(environ) == (environ, [])


def test_hooks_stand_in_front_and_nothing_empty_is_added():
    """An empty PYTHONPATH would otherwise put the working directory on the path; Node.js reads quoted paths."""
    hook = Path('/opt/my "tools"/hook.js')

    fresh = with_hooks({"PYTHONPATH": ""}, {}, hook)
    used = with_hooks({"PYTHONPATH": "/a", "NODE_OPTIONS": "--no-warnings"}, {"LOCALYUN_CA_BUNDLE": "/b.pem"}, hook)

    assert fresh == {"PYTHONPATH": str(python_site()), "NODE_OPTIONS": r'--require "/opt/my \"tools\"/hook.js"'}
    assert used["PYTHONPATH"] == f"{python_site()}{os.pathsep}/a"
    assert used["NODE_OPTIONS"].endswith('hook.js" --no-warnings')
    assert used["SSL_CERT_FILE"] == used["NODE_EXTRA_CA_CERTS"] == "/b.pem"


def test_programs_without_a_hook_are_led_to_the_proxy():
    """All four names lead there; machines nearby and the user's exceptions are called directly."""
    address = {"LOCALYUN_PROXY_URL": "http://forward:s@127.0.0.1:1"}

    found = with_hooks({"NO_PROXY": "corp.example,.aliyuncs.com"}, address, None)

    assert {found[name] for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")} == {
        "http://forward:s@127.0.0.1:1"
    }
    assert found["NO_PROXY"] == found["no_proxy"]
    assert found["NO_PROXY"].split(",")[:3] == ["corp.example", "localhost", ".localhost"]


def test_a_proxy_the_user_keeps_is_not_replaced():
    """With --keep-proxy every program goes the user's way."""
    found = with_hooks({"https_proxy": "http://p:1"}, {"LOCALYUN_PROXY_URL": "http://l:2"}, None)

    assert found["https_proxy"] == "http://p:1"
    assert "HTTP_PROXY" not in found


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        ("*", False), ("aliyuncs.com", False), (".com", False), ("com", False), ("*.aliyuncs.com:443", False),
        ("sts.aliyuncs.com", False), (".fcapp.run", False), ("10.0.0.0/8", True), ("myaliyuncs.com", True),
        ("corp.example:8443", True),
    ],
)  # fmt: skip
def test_exceptions_for_the_cloud_are_dropped(entry, kept):
    """An exception that covers a name of the cloud would let a client call the cloud."""
    assert without_the_cloud(f" {entry} ,") == (entry if kept else "")


def test_the_users_exceptions_are_open_at_the_proxy_too():
    """For build tools that read no NO_PROXY; so are the hosts of the option, and nothing that covers the cloud."""
    environ = {"NO_PROXY": "corp.example,.aliyuncs.com, 10.0.0.0/8"}

    address = allowing("http://forward:s@127.0.0.1:1", environ, "mirror.test,corp.example")

    assert address == f"http://{forwarding_user(['mirror.test', 'corp.example', '10.0.0.0/8'])}:s@127.0.0.1:1"
    assert allowing("http://forward:s@127.0.0.1:1", {}, "") == "http://forward:s@127.0.0.1:1"
