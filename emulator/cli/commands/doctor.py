"""``doctor``: diagnosis of this machine.

The network is examined here, everything else in `emulator.cli.findings`.
"""

import ipaddress
import os
import socket
import ssl
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from emulator.cli import endpoint
from emulator.cli.client import Client, connected
from emulator.cli.endpoint import Endpoint, Running
from emulator.cli.findings import Finding, Findings, clocks, ok, python, remark, sdks, state_folder, tool_chains, wrong
from emulator.cli.output import (
    DONE,
    FAILED,
    CommandFailed,
    _,
    enumerated,
    folded,
    say,
    say_json,
    say_table,
    say_words,
    spoken,
    wants_json,
)
from emulator.config import AUTO_PORT, DEFAULT_REGION, FILE_NAME, Config, Settings
from emulator.kernel.clock import SystemClock
from emulator.keyfile import KeyFileDamaged, load
from emulator.redirect.environment import PROXY_VARIABLES

HOSTS = (
    "{account}.mns.{region}.aliyuncs.com", "mns-open.{region}.aliyuncs.com", "{account}.{region}.fc.aliyuncs.com",
    "fcv3.{region}.aliyuncs.com", "{region}.fnf.aliyuncs.com", "sts.aliyuncs.com", "oss-{region}.aliyuncs.com",
)  # fmt: skip
"""Hosts that the SDKs of the emulated services call by default."""

RESOLVING_S = 3.0
"""Seconds that the resolution of all names together may take."""

READERS = {
    "SSL_CERT_FILE": ("Python (ssl)", "Go", "Ruby", "OpenSSL"),
    "REQUESTS_CA_BUNDLE": ("Python (requests)", "aliyun-python-sdk-core"),
    "CURL_CA_BUNDLE": ("curl",),
    "NODE_EXTRA_CA_CERTS": ("Node.js",),
    "ALIBABA_CLOUD_CA_BUNDLE": ("aliyun", "alibabacloud-tea"),
}
"""The programs that read each variable of a certificate bundle."""

_LARGEST_BUNDLE = 16 * 1024 * 1024

Resolve = Callable[[str], Sequence[str]]


def run(arguments: Namespace, settings: Settings) -> int:
    """Print each finding with its remedy; the exit code is 1 when something is wrong."""
    findings = examine(settings)
    problems = [each for each in findings if each.verdict == "wrong"]
    if wants_json(arguments):
        say_json({"findings": [each.shown() for each in findings], "wrong": len(problems)})
    else:
        marks = {"ok": _("ok"), "note": _("note"), "wrong": _("wrong")}
        say_table(
            ("subject", "verdict", "found"), [(each.subject, marks[each.verdict], each.found) for each in findings]
        )
        remedies = [each for each in findings if each.remedy]
        if remedies:
            say()
        for each in remedies:
            say_words(_("{field}: {message}", field=each.subject, message=each.found))
            say(folded("    -> ", each.remedy))
    return FAILED if problems else DONE


def examine(settings: Settings) -> list[Finding]:
    """Return all findings, by subject."""
    config = settings.config
    client = answering(settings)
    account, region = _identity(config)
    served = client.endpoint if client else None
    return [
        *python(),
        *ports(config, served, endpoint.running()),
        *names(account, region),
        *certificates(config.state, SystemClock().now() / 1000),
        *proxies(os.environ, client.admin_address("proxy", "forwarding") if client else None),
        *_clocks(config, client),
        *state_folder(config),
        *_functions(client),
        *tool_chains(config),
        *sdks(Path.cwd()),
    ]


def _functions(client: Client | None) -> Findings:
    status = client.admin("GET", "status") if client else {}
    for problem in status.get("problems", []):
        if problem.startswith(f"{FILE_NAME}:"):
            yield wrong("hooks", spoken(problem), _("correct the command; it runs again at the next start"))
        else:
            remedy = _("correct the file, or rename the folder; what has changed is read again at once")
            yield wrong("functions", spoken(problem), remedy)
    for reason in status.get("waiting", []):
        yield remark("functions", spoken(reason), _("create it, or declare it in localyun.yaml"))


def _clocks(config: Config, client: Client | None) -> Findings:
    answer = client.admin("GET", "clock") if client else None
    return clocks(config.state, SystemClock().now(), answer)  # the time is read right after the answer


def answering(settings: Settings) -> Client | None:
    """Return a client for the emulator of this folder, None when none answers or it cannot be called."""
    try:
        client = connected(settings)
        client.admin("GET", "clock")
    except (CommandFailed, OSError):
        return None
    return client


def _identity(config: Config) -> tuple[str, str]:
    try:
        keys = load(config)
    except (KeyFileDamaged, OSError):
        keys = None
    if keys is None:
        return config.account_id or "1234567890123456", config.region or DEFAULT_REGION
    return keys.account_id, keys.region


def ports(config: Config, served: Endpoint | None, running: Iterable[Running]) -> Findings:
    """Check whether the next start gets its ports; *served* is this folder's emulator, if it answers."""
    if served is not None:
        yield ok("ports", _("an emulator of this folder answers at {address}", address=served.http))
        return
    owners = {urlsplit(address).port: each for each in running for address in (each.http, each.https) if address}
    free = True
    for option, port in (("--port", config.port), ("--https-port", config.https_port)):
        if port == AUTO_PORT or not endpoint.is_taken(port):
            continue
        free = False
        owner = owners.get(port)
        text = (
            _("port {port} is taken by the emulator of {state} (process {pid})", port=port, state=owner.state,
              pid=owner.pid)
            if owner
            else _("port {port} is taken by another program", port=port)
        )  # fmt: skip
        yield wrong("ports", text, _("localyun start --port auto, or name another one with {option}", option=option))
    if free:
        yield ok("ports", _("the ports of the next start are free"))


def resolve(name: str) -> Sequence[str]:
    """Return the addresses of a host name on this system; none when it has none or does not answer in time."""
    try:
        return sorted({str(info[4][0]) for info in socket.getaddrinfo(name, 443, type=socket.SOCK_STREAM)})
    except (OSError, UnicodeError):
        return ()


def names(account: str, region: str, resolver: Resolve = resolve, limit_s: float = RESOLVING_S) -> Findings:
    """Check where the names of the SDKs' hosts lead on this machine, ``localhost`` included."""
    hosts = [host.format(account=account, region=region) for host in HOSTS]
    resolved = _all_resolved(["localhost", *hosts], resolver, limit_s)
    if not resolved["localhost"] or not _all_loopback(resolved["localhost"]):
        yield wrong(
            "names",
            _("localhost resolves to {addresses}", addresses=enumerated(resolved["localhost"]) or "-"),
            _("add the line '127.0.0.1 localhost' to the hosts file"),
        )
    here = [host for host in hosts if resolved[host] and _all_loopback(resolved[host])]
    away = [host for host in hosts if resolved[host] and host not in here]
    if here:
        yield ok("names", _("these names resolve to this machine: {hosts}", hosts=enumerated(here)))
    if away:
        yield remark(
            "names",
            _("these names resolve to the cloud: {hosts}", hosts=enumerated(away)),
            _("run programs that set no endpoint under localyun exec, or set LOCALYUN_ENDPOINT for them"),
        )
    if not here and not away:
        yield ok(
            "names", _("none of the cloud's host names resolves here, so no program can reach the cloud by mistake")
        )


def _all_resolved(hosts: Sequence[str], resolver: Resolve, limit_s: float) -> dict[str, Sequence[str]]:
    resolved: dict[str, Sequence[str]] = dict.fromkeys(hosts, ())

    def look(host: str) -> None:
        resolved[host] = resolver(host)

    threads = [Thread(target=look, args=(host,), daemon=True) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:  # without a network a resolver may take half a minute: slower threads are abandoned
        thread.join(limit_s / len(threads))
    return dict(resolved)


def _all_loopback(addresses: Iterable[str]) -> bool:
    return all(ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in addresses)


def proxies(environ: Mapping[str, str], own: str | None = None) -> Findings:
    """Check for proxies between clients and the emulator; *own* is the emulator's own."""
    variables = {name: value for name, value in environ.items() if name.upper() in PROXY_VARIABLES and value}
    foreign = {name: value for name, value in variables.items() if _place(value) != _place(own or "")}
    direct = {entry.strip() for entry in (environ.get("NO_PROXY") or environ.get("no_proxy") or "").split(",")}
    if not foreign:
        yield ok("proxies", _("the emulator's proxy is set") if variables else _("no proxy is set"))
    elif "*" in direct or {"localhost", "127.0.0.1"} <= direct:
        yield remark(
            "proxies",
            _("{names} are set; NO_PROXY exempts calls to this machine", names=enumerated(sorted(foreign))),
            _("several official SDKs ignore NO_PROXY; localyun exec removes the variables for its command"),
        )
    else:
        yield wrong(
            "proxies",
            _("{names} send calls to this machine to a proxy", names=enumerated(sorted(foreign))),
            "export NO_PROXY=localhost,127.0.0.1,::1",
        )


def _place(address: str) -> str:
    with suppress(ValueError):
        return urlsplit(address).netloc.rpartition("@")[2]
    return address


def certificates(state: Path, now_s: float, environ: Mapping[str, str] = os.environ) -> Findings:
    """Check which programs of this shell trust the certificates of the emulator of *state*."""
    authority = state / "ca" / "ca.pem"
    try:
        own = authority.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        yield ok("certificates", _("there is no certificate authority yet; the first https call creates it"))
        return
    own = own[max(own.find("-----BEGIN CERTIFICATE"), 0) :]
    ends_s = _end_of(authority)
    if ends_s is None or ends_s < now_s:
        yield wrong(
            "certificates", _("{path} has expired or cannot be read", path=authority), f"rm -r '{state / 'ca'}'"
        )
        return
    yield from _by_variable(own, environ, _contains(ssl.get_default_verify_paths().cafile, own), state)


def _by_variable(own: str, environ: Mapping[str, str], by_system: bool, state: Path) -> Findings:
    trusting = ["*"] if by_system else []
    strangers = []
    for variable, readers in READERS.items():
        programs = enumerated(readers)
        value = environ.get(variable)
        if value and not Path(value).exists():
            yield wrong(
                "certificates",
                _("{variable} names {path}, which does not exist: {programs} trust no certificate", variable=variable,
                  path=value, programs=programs),
                f"unset {variable}",
            )  # fmt: skip
        elif _contains(value, own):
            trusting.append(programs)
        elif value or not by_system:
            strangers.append(programs)
    yield _trust(trusting, strangers, state)


def _trust(trusting: Sequence[str], strangers: Sequence[str], state: Path) -> Finding:
    if not strangers:
        return ok("certificates", _("trusted by: {programs}", programs=_("; ").join(trusting)))
    by_others = _("; ").join(strangers)
    return remark(
        "certificates",
        _("trusted by: {programs}; not by: {strangers}", programs=_("; ").join(trusting), strangers=by_others)
        if trusting
        else _("programs of this shell do not trust the emulator's certificates: {strangers}", strangers=by_others),
        _("localyun exec makes its command trust them; configure other programs with {path}",
          path=state / "ca" / "ca.pem"),
    )  # fmt: skip


def _contains(bundle: str | None, certificate: str) -> bool:
    with suppress(OSError, UnicodeDecodeError):
        if bundle and Path(bundle).stat().st_size <= _LARGEST_BUNDLE:
            return certificate in Path(bundle).read_text(encoding="utf-8", errors="replace")
    return False


def _end_of(path: Path) -> float | None:
    """Return when a certificate ends, in seconds; None when it cannot be read."""
    from cryptography import x509  # slow to import

    from emulator.http.minting import ends_at

    try:
        return ends_at(x509.load_pem_x509_certificate(path.read_bytes())) / 1000
    except (OSError, ValueError):
        return None
