"""What is taken out of a command's environment, and what is put in front."""

import os
from pathlib import Path

import pytest

from emulator.redirect import python_site
from emulator.redirect.environment import with_hooks, without_proxies, without_real_keys


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
    """Only the beginning of a value counts."""
    environ = {"AK_ID": "LYUN12", "NOTE": "not LTAI"}

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
