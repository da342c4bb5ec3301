"""The suites that the makers of the SDKs run against the live service: what each needs, and how it is run.

A suite runs in a scratch copy of a checkout. Its cases stay as they are; what may be set in the copy is where the
service is, with which keys, and with which compiler.
"""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from emulator.testing import Localyun
from tests.suites import flows
from tests.suites.outcomes import Case, read_go, read_junit, read_mocha
from tests.suites.site import run, variables


class Suite(NamedTuple):
    """A suite.

    ``repository`` says where its checkout comes from, ``commit`` which one the figures are of. ``marker`` is a file
    that only its checkout has, empty where any folder will do. ``tools`` are programs it needs, ``before`` what is to
    be run in the checkout once, after which one of the files ``installed`` is there, in the checkout or outside.
    ``settings`` are the variables that its emulator is started with.
    """

    repository: str
    commit: str
    marker: str
    tools: tuple[str, ...]
    before: str
    run: Callable[[Localyun, Path, str], list[Case]]
    installed: tuple[str, ...] = ()
    settings: Mapping[str, str] = MappingProxyType({})


def _python(emulator: Localyun, copy: Path, only: str) -> list[Case]:
    report = copy / "report.xml"
    pytest = ["-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--rootdir", str(copy)]
    words = [sys.executable, *pytest, "-n", "0", "--import-mode", "prepend", "-W", "ignore", f"--junitxml={report}"]
    words += ["-c", "/dev/null", *(["-k", only] if only else []), *_tests(copy, "test/*_test.py")]
    print(run(words, emulator, copy, {**variables(emulator), "PYTHONPATH": str(copy)}))
    return read_junit([report])


def _tests(copy: Path, pattern: str) -> list[str]:
    return sorted(str(path.relative_to(copy)) for path in copy.glob(pattern))


def _fc_node(emulator: Localyun, copy: Path, only: str) -> list[Case]:
    for name in ("main", "counter"):
        _zip(copy / "test" / "figures", name)
    return _node(emulator, copy, only)


def _node(emulator: Localyun, copy: Path, only: str) -> list[Case]:
    report = copy / "report.json"
    options = ["-t", "60000", "-R", "json", "--reporter-option", f"output={report}", *(["-g", only] if only else [])]
    words = ["node", "node_modules/mocha/bin/mocha.js", *options, *_tests(copy, "test/*.test.js")]
    given = variables(emulator)
    run(words, emulator, copy, given)
    return read_mocha(report)


def _zip(folder: Path, name: str) -> None:
    """Make the package that the suite's own Makefile makes."""
    from zipfile import ZipFile

    target = {"main": "test.zip"}.get(name, f"{name}.zip")
    with ZipFile(folder / target, "w") as archive:
        archive.write(folder / f"{name}.js", f"{name}.js")


def _go(emulator: Localyun, copy: Path, only: str) -> list[Case]:
    words = ["go", "test", "-json", "-vet=off", "-count=1", "-timeout", "600s", *(["-run", only] if only else []), "."]
    given = {**variables(emulator), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    return read_go(run(words, emulator, copy, given))


def _java(emulator: Localyun, copy: Path, only: str) -> list[Case]:
    emulator.faults.add(service="fc", operation="CreateTrigger", delay="1s")  # an update is to have a later second
    project = copy / "pom.xml"
    text = project.read_text(encoding="utf-8")
    for wanted, given in (
        (r"<(source|target)>1\.6<", r"<\1>8<"),
        (r"<version>1\.18\.4<", "<version>1.18.30<"),  # Lombok for newer compilers
    ):
        text = re.sub(wanted, given, text)
    project.write_text(text, encoding="utf-8")
    words = ["mvn", "-o", "-B", "-q", "test", "-DfailIfNoTests=false", *([f"-Dtest={only}"] if only else [])]
    opened = "--add-opens=java.base/java.lang=ALL-UNNAMED --add-opens=java.base/java.util=ALL-UNNAMED"
    said = run(words, emulator, copy, {**variables(emulator), "JDK_JAVA_OPTIONS": opened})
    reports = sorted((copy / "target" / "surefire-reports").glob("TEST-*.xml"))
    if not reports:
        print(said)
    return read_junit(reports)


_GUZZLE = ("vendor/autoload.php", "/usr/share/php/GuzzleHttp/autoload.php")
_MOCHA = ("node_modules/mocha/bin/mocha.js",)


def _php(emulator: Localyun, copy: Path, only: str) -> list[Case]:
    host = emulator.endpoint.partition("//")[2]
    (copy / "Tests" / "aliyun-mns.ini").write_text(
        f'endpoint = "http://{host}"\n'
        f'accessid = "{emulator.access_key_id}"\n'
        f'accesskey = "{emulator.access_key_secret}"\n',
        encoding="ascii",
    )
    start = copy / "start.php"
    start.write_text(
        "<?php\n"
        "error_reporting(E_ALL & ~E_DEPRECATED);\n"
        f"foreach ({list(_GUZZLE)} as $each) {{\n"
        "    if (file_exists($each)) { require_once $each; break; }\n"
        "}\n"
        "spl_autoload_register(function ($name) {\n"
        "    $file = __DIR__ . '/' . str_replace('\\\\', '/', $name) . '.php';\n"
        "    if (file_exists($file)) { require_once $file; }\n"
        "});\n",
        encoding="ascii",
    )
    report = copy / "report.xml"
    words = ["phpunit", "--no-configuration", "--bootstrap", str(start), "--log-junit", str(report)]
    print(run([*words, *(["--filter", only] if only else []), "Tests"], emulator, copy, {}))
    return read_junit([report])


SUITES = {
    "fc-python": Suite(
        repository="aliyun/fc-python-sdk", commit="a4e2957", marker="fc2/fc_exceptions.py", tools=(),
        before="pip install aliyun-python-sdk-sts", run=_python, settings={"LOCALYUN_REGION": "cn-hongkong"},
    ),
    "fc-node": Suite(
        repository="aliyun/fc-nodejs-sdk", commit="9e48fa7", marker="test/client.test.js", tools=("node",),
        before="npm install --no-package-lock mocha@10 expect.js, and raw-body in ~/.localyun/nodejs", run=_fc_node,
        installed=_MOCHA,
    ),
    "fc-go": Suite(
        repository="aliyun/fc-go-sdk", commit="3a1b2ed", marker="on_demand_config_test.go", tools=("go",),
        before="go mod download", run=_go,
    ),
    "fc-java": Suite(
        repository="aliyun/fc-java-sdk", commit="e770895",
        marker="src/test/java/com/aliyuncs/fc/config/ConfigTest.java", tools=("java", "mvn"),
        before="mvn dependency:go-offline, with Lombok 1.18.30 in its pom.xml", run=_java,
        settings={"LOCALYUN_ENFORCE_RAM": "true"},
    ),
    "mns-node": Suite(
        repository="aliyun/aliyun-mns-nodejs-sdk", commit="63f764a", marker="es5/client.js", tools=("node",),
        before="npm install --no-package-lock --omit=dev, then npm install --no-save mocha@10 expect.js", run=_node,
        installed=_MOCHA,
    ),
    "mns-php": Suite(
        repository="aliyun/aliyun-mns-php-sdk", commit="962ead2", marker="Tests/TopicTest.php",
        tools=("php", "phpunit"), before="apt-get install phpunit php-curl php-xml php-guzzlehttp-guzzle", run=_php,
        installed=_GUZZLE,
    ),
    "flows": Suite(
        repository="the flows of awesome-fnf's 23 repositories", commit="", marker="", tools=(), before="",
        run=flows.suite,
    ),
}  # fmt: skip
