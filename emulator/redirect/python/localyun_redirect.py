"""Sends connections to the cloud's host names to an emulator on this machine, in any Python program.

Names under ``aliyuncs.com`` and ``fcapp.run`` resolve to the loopback address, and the ports 80 and 443 become the
emulator's: a resolved address carries the port, and clients connect to what was resolved. The emulator's certificate
authority is made known to the TLS libraries in use. The proxy for programs without a hook is hidden from this one, so
that its calls to other hosts go their usual way, and kept for the programs it starts. Nothing else changes, and without
the variables nothing at all.

This file stands alone: it runs inside users' programs under any Python from 3.9 on. Variables read:
``LOCALYUN_HTTP_PORT``, ``LOCALYUN_HTTPS_PORT``, ``LOCALYUN_CA_BUNDLE``, ``LOCALYUN_PROXY_URL``.
"""

from __future__ import annotations

import functools
import os
import socket
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

SUFFIXES = (".aliyuncs.com", ".fcapp.run")

CA_VARIABLES = ("ALIBABA_CLOUD_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Read by the official SDKs' own bundle, the `ssl` module, requests and curl."""

PROXY_VARIABLES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")


def install() -> bool:
    """Redirect this process as its environment says; return whether it names an emulator.

    Installing again follows the environment as it is then.
    """
    ports = {
        usual: int(os.environ[name])
        for usual, name in ((80, "LOCALYUN_HTTP_PORT"), (443, "LOCALYUN_HTTPS_PORT"))
        if os.environ.get(name, "").isdigit()
    }
    bundle = os.environ.get("LOCALYUN_CA_BUNDLE")
    if ports:
        original = getattr(socket.getaddrinfo, "original", socket.getaddrinfo)
        socket.getaddrinfo = _redirected(original, ports)
    if bundle:
        _trust(bundle)
    _hide_proxy(os.environ.get("LOCALYUN_PROXY_URL"))
    return bool(ports)


def _redirected(original: Callable[..., Any], ports: dict[int, int]) -> Callable[..., Any]:
    def getaddrinfo(
        host: Any,
        port: Any,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> Any:
        if not _is_cloud(host):
            return original(host, port, family, type, proto, flags)
        address = "::1" if family == socket.AF_INET6 else "127.0.0.1"
        number = {"http": 80, "https": 443}.get(port, port)
        number = int(number) if isinstance(number, str) and number.isdigit() else number
        return original(address, ports.get(number, number), family, type, proto, flags)

    getaddrinfo.original = original  # type: ignore[attr-defined]  # how a second install finds the system's function
    return getaddrinfo


def _is_cloud(host: Any) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, (bytes, bytearray)) else host
    return isinstance(name, str) and name.rstrip(".").lower().endswith(SUFFIXES)


def _trust(bundle: str) -> None:
    """Make *bundle* the authorities of every TLS client: by variables, and in place of certifi's own file."""
    os.environ.update(dict.fromkeys(CA_VARIABLES, bundle))
    _patch("certifi.core", lambda module: _replace_bundle(module, bundle), copies=True)
    for name, module in list(sys.modules.items()):
        if name.rpartition(".")[2] == "certifi" or name.endswith("certifi.core"):
            _replace_bundle(module, bundle)


def _hide_proxy(proxy: str | None) -> None:
    """Remove *proxy* from ``os.environ`` but not from the process's environment, which its children inherit."""
    hidden = [name for name in PROXY_VARIABLES if proxy and os.environ.get(name) == proxy]
    if not proxy or not hidden:
        return
    for name in hidden:
        os.environ._data.pop(os.environ.encodekey(name), None)  # type: ignore[attr-defined]  # del would unset it
    proxies = dict.fromkeys(hidden, proxy)
    if "subprocess" in sys.modules:
        _pass_on_proxy(sys.modules["subprocess"], proxies)
    else:
        _patch("subprocess", lambda module: _pass_on_proxy(module, proxies))


def _pass_on_proxy(subprocess: ModuleType, proxies: dict[str, str]) -> None:
    """Add the proxy variables to programs started with a copy of ``os.environ``."""
    original = subprocess.Popen.__init__

    @functools.wraps(original)
    def start(self: Any, *arguments: Any, **options: Any) -> None:
        env = options.get("env")
        if env is not None and "LOCALYUN_PROXY_URL" in env:
            options["env"] = {**proxies, **env}
        original(self, *arguments, **options)

    subprocess.Popen.__init__ = start


def _replace_bundle(module: ModuleType, bundle: str) -> None:
    def where() -> str:
        return bundle

    def contents() -> str:
        with open(bundle, encoding="ascii", errors="replace") as file:  # noqa: PTH123 - loaded in every process
            return file.read()

    for function in (where, contents):
        if hasattr(module, function.__name__):
            setattr(module, function.__name__, function)


def _patch(wanted: str, patch: Callable[[ModuleType], None], *, copies: bool = False) -> None:
    """Have *patch* change the module *wanted* when it is imported, replacing an earlier patch of it.

    With *copies* those that other packages carry within them are changed as well.
    """
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "wanted", None) != wanted]
    sys.meta_path.insert(0, _PatchingFinder(wanted, patch, copies))


class _PatchingFinder:
    """Changes a module as it is imported: importing it early would cost every start."""

    def __init__(self, wanted: str, patch: Callable[[ModuleType], None], copies: bool) -> None:
        self.wanted = wanted
        self._patch = patch
        self._copies = copies

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if name != self.wanted and not (self._copies and name.endswith("." + self.wanted)):
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _PatchingLoader(spec.loader, self._patch)  # type: ignore[assignment]  # has the methods that are used
                return spec
        return None


class _PatchingLoader:
    def __init__(self, loader: Any, patch: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._patch = patch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._patch(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
