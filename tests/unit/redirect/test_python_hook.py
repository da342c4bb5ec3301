"""The hook in programs of their own, installed through PYTHONPATH."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import emulator.redirect
from emulator.redirect.python import localyun_redirect


def run(code, *path, **variables):
    """Run a program with the hook's folder in front of *path*; return what it prints."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().endswith("_PROXY") and not name.startswith("LOCALYUN_")
    }
    environment["PYTHONPATH"] = os.pathsep.join([str(emulator.redirect.python_site()), *map(str, path)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def serve_once(listener, requests):
    connection, _ = listener.accept()
    with connection:
        requests.append(connection.recv(65536).decode())
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")


def test_unmodified_program_with_the_classic_client_is_redirected():
    """A worker script that knows only keys and region sends its request to the emulator's port."""
    code = """
from aliyunsdkcore.client import AcsClient
from aliyunsdkfnf.request.v20190315.DescribeFlowRequest import DescribeFlowRequest
request = DescribeFlowRequest()
request.set_Name("flow")
print(AcsClient("id", "secret", "cn-hangzhou").do_action_with_exception(request).decode())
"""
    requests = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_once, args=(listener, requests), daemon=True)
        thread.start()
        printed = run(code, **emulator.redirect.hook_environment(listener.getsockname()[1], None, None))
        thread.join(10)

    assert printed == "{}\n"
    assert "Host: cn-hangzhou.fnf.aliyuncs.com" in requests[0]


def test_program_without_the_variables_is_left_alone():
    """The folder on the path alone changes nothing."""
    code = "import socket, localyun_redirect as it; print(hasattr(socket.getaddrinfo, 'original'), it.install())"

    assert run(code) == "False False\n"


def test_the_next_sitecustomize_runs_as_well(tmp_path):
    """Only one is imported by Python, so ours calls the one it hides."""
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.other_ran = True")

    assert run("print(other_ran)", tmp_path) == "True\n"


@pytest.fixture
def hooked(monkeypatch):
    """The hook installed in this process, taken back afterwards."""
    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setenv("LOCALYUN_HTTP_PORT", "1080")
    monkeypatch.setenv("LOCALYUN_HTTPS_PORT", "1443")
    monkeypatch.delenv("LOCALYUN_CA_BUNDLE", raising=False)
    assert localyun_redirect.install()


@pytest.mark.parametrize(
    ("host", "port", "address"),
    [
        ("fnf.cn-hangzhou.aliyuncs.com", 80, ("127.0.0.1", 1080)),
        ("FNF.CN-HANGZHOU.ALIYUNCS.COM.", 443, ("127.0.0.1", 1443)),
        (b"sts.aliyuncs.com", "443", ("127.0.0.1", 1443)),
        ("x.cn-hangzhou.fcapp.run", "http", ("127.0.0.1", 1080)),
        ("1.mns.cn-hangzhou.aliyuncs.com", None, ("127.0.0.1", 0)),
        ("127.0.0.1", 80, ("127.0.0.1", 80)),
    ],
)
def test_cloud_names_resolve_to_loopback_with_the_port_mapped(hooked, host, port, address):
    """Whatever the case, the form of the name, and the form of the port."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)

    assert [entry[4] for entry in found] == [address]


def test_only_the_version_asked_for_is_answered(hooked):
    """A client that wants IPv6 gets the other loopback address."""
    found = socket.getaddrinfo("oss.aliyuncs.com", 80, family=socket.AF_INET6, type=socket.SOCK_STREAM)

    assert found[0][4][:2] == ("::1", 1080)


@pytest.mark.parametrize("host", ["aliyuncs.com.example", "notaliyuncs.com", "example.fcapp.run.org"])
def test_other_names_are_asked_as_before(monkeypatch, hooked, host):
    """The system's own function gets them unchanged."""
    asked = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments: asked.append(arguments))
    localyun_redirect.install()

    socket.getaddrinfo(host, 80)

    assert asked == [(host, 80, 0, 0, 0, 0)]


def test_installing_twice_follows_the_new_ports(monkeypatch, hooked):
    """There is one layer only."""
    original = socket.getaddrinfo.original
    monkeypatch.setenv("LOCALYUN_HTTP_PORT", "2080")

    localyun_redirect.install()

    assert socket.getaddrinfo.original is original
    assert socket.getaddrinfo("a.aliyuncs.com", 80, type=socket.SOCK_STREAM)[0][4] == ("127.0.0.1", 2080)


def test_hook_environment_names_only_what_there_is():
    """Without TLS there is no port and no bundle for it."""
    assert emulator.redirect.hook_environment(1, None, None) == {"LOCALYUN_HTTP_PORT": "1"}
    assert emulator.redirect.hook_environment(1, 2, Path("/ca.pem")) == {
        "LOCALYUN_HTTP_PORT": "1",
        "LOCALYUN_HTTPS_PORT": "2",
        "LOCALYUN_CA_BUNDLE": "/ca.pem",
    }


def test_certifi_is_changed_whether_imported_before_or_after(tmp_path):
    """Programs that start with certifi loaded get the bundle as well."""
    bundle = tmp_path / "ca.pem"
    bundle.write_text("pem")
    code = """
import json, localyun_redirect, os
os.environ["LOCALYUN_CA_BUNDLE"] = os.environ["BUNDLE"]
import certifi
before = certifi.where()
localyun_redirect.install()
print(json.dumps([before != certifi.where(), certifi.where(), certifi.contents()]))
"""

    assert json.loads(run(code, BUNDLE=str(bundle))) == [True, str(bundle), "pem"]


PROXY = "http://forward:s3cret@127.0.0.1:8869"
CHILD = "import os; print(os.environ.get('HTTPS_PROXY'))"


@pytest.mark.parametrize("first", ["import subprocess", "import os"], ids=["imported before", "imported later"])
def test_emulator_s_proxy_is_hidden_and_inherited(first):
    """This program's calls to other hosts stay direct; programs it starts, in whatever way, find the proxy."""
    code = f"""
{first}
import os, sys, urllib.request, localyun_redirect
localyun_redirect.install()
import asyncio, subprocess
child = [sys.executable, "-S", "-c", {CHILD!r}]
print("HTTPS_PROXY" in os.environ, urllib.request.getproxies())
for options in ({{}}, {{"env": {{**os.environ}}}}, {{"env": {{"PATH": "/bin"}}}}):
    print(subprocess.run(child, capture_output=True, text=True, **options).stdout, end="")
"""

    assert run(code, LOCALYUN_PROXY_URL=PROXY, HTTPS_PROXY=PROXY).splitlines() == ["False {}", PROXY, PROXY, "None"]


def test_proxy_of_the_user_s_stays():
    """Only what is the emulator's is hidden."""
    assert run(CHILD, LOCALYUN_PROXY_URL=PROXY, HTTPS_PROXY="http://other:1") == "http://other:1\n"
