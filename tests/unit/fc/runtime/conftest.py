"""A pool of real instances for functions that a test writes as text."""

import asyncio
import contextlib
import importlib.util
import itertools
import shutil
import subprocess
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from emulator.kernel import compiled, system
from emulator.kernel.clock import Clock, SystemClock
from emulator.kernel.ids import RandomIds
from emulator.kernel.turnstile import Turnstile
from emulator.services.fc.runtime.model import FunctionImage, Invocation, InvocationResult
from emulator.services.fc.runtime.pool import InstancePool
from emulator.services.fc.runtime.settings import RuntimeSettings
from tests.jvm import JAVAC
from tests.once import once


class Functions:
    """Writes functions into a folder and calls them in pools."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log: list[tuple[str, bytes]] = []
        self._keys = itertools.count(1)
        self._requests = itertools.count(1)

    def image(self, code: str, **changes: Any) -> FunctionImage:
        """Write *code* as index.py of a function of its own."""
        number = next(self._keys)
        code_dir = self.folder / f"code{number}"
        code_dir.mkdir()
        (code_dir / "index.py").write_text(dedent(code).lstrip("\n"))
        fields: dict[str, Any] = {
            "key": f"key{number}",
            "family": "world/service/function/LATEST",
            "generation": "2.0",
            "account": "1234567890123456",
            "region": "cn-hangzhou",
            "service": "service",
            "function": "function",
            "version": "LATEST",
            "runtime": "python3",
            "handler": "index.handler",
            "code_dir": code_dir,
        }
        return FunctionImage(**(fields | changes))

    def invocation(self, event: bytes = b"", **changes: Any) -> Invocation:
        """Return a call with a request id of its own."""
        return Invocation(**({"request_id": f"request-{next(self._requests)}", "event": event} | changes))

    @contextlib.asynccontextmanager
    async def pool(
        self, clock: Clock | None = None, turns: Turnstile | None = None, **settings: Any
    ) -> AsyncIterator[InstancePool]:
        """A pool that exists for the block alone."""
        pool = InstancePool(
            clock or SystemClock(),
            RandomIds(),
            RuntimeSettings(**settings),
            lambda image, request_id, data: self.log.append((request_id, data)),
            turns,
        )
        await pool.start()
        try:
            async with asyncio.timeout(60):
                yield pool
        finally:
            await pool.close()

    async def invoke(
        self, image: FunctionImage, invocation: Invocation, clock: Clock | None = None, **settings: Any
    ) -> InvocationResult:
        """Make one call in a pool of its own."""
        async with self.pool(clock, **settings) as pool:
            return await pool.invoke(image, invocation)

    async def calls(self, image: FunctionImage, *events: bytes, **settings: Any) -> list[InvocationResult]:
        """Call a function once per event, one after the other."""
        async with self.pool(**settings) as pool:
            return [await pool.invoke(image, self.invocation(event)) for event in events]

    async def call(self, code: str, event: bytes = b"", **changes: Any) -> InvocationResult:
        """Call a function once."""
        return (await self.calls(self.image(code, **changes), event))[0]

    def logged(self, request_id: str) -> bytes:
        """Return everything that was logged under *request_id*."""
        return b"".join(data for request, data in self.log if request == request_id)


@pytest.fixture
def zygote():
    """Leave the test out where instances are spawned: nobody looks at them, and their parent is this process."""
    if not system.FORK:
        pytest.skip("instances have no zygote here")


@pytest.fixture
def functions(tmp_path: Path) -> Functions:
    """Functions in a folder of the test's own."""
    return Functions(tmp_path)


@pytest.fixture(scope="session")
def java_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar as users upload it, for all processes of a run: the classes of ``java/Handlers.java``, not the platform's.

    It needs a JDK and ``com.aliyun.fc.runtime:fc-java-core`` in Maven's local repository:
    ``mvn dependency:get -Dartifact=com.aliyun.fc.runtime:fc-java-core:1.4.1``.
    """
    if shutil.which("javac") is None:
        pytest.skip("there is no javac on the PATH")
    repository = Path.home() / ".m2" / "repository" / "com" / "aliyun" / "fc" / "runtime" / "fc-java-core"
    if not (jars := sorted(repository.glob("*/*.jar"))):
        pytest.skip("Maven has not brought com.aliyun.fc.runtime:fc-java-core")

    def make() -> str:
        folder = tmp_path_factory.mktemp("classes")
        source = Path(__file__).with_name("java") / "Handlers.java"
        options = ("-source", "8", "-target", "8", "-nowarn", "-cp", jars[-1], "-d", folder)
        subprocess.run([*JAVAC, *options, source], check=True, capture_output=True)
        jar = folder / "function.jar"
        with zipfile.ZipFile(jar, "w") as archive:
            for path in folder.rglob("*.class"):
                archive.write(path, path.relative_to(folder))
        return str(jar)

    return Path(once(tmp_path_factory, "java-functions", make))


@pytest.fixture(scope="session")
def dotnet_host() -> str:
    """The machine's .NET: that of the PATH, else of the distribution ``dotnetcore2``."""
    if found := shutil.which("dotnet"):
        return found
    packed = importlib.util.find_spec("dotnetcore2")
    if packed is None or packed.origin is None:
        pytest.skip("there is no .NET")
    return str(Path(packed.origin).parent / "bin" / "dotnet")


@pytest.fixture(scope="session")
def dotnet_package(tmp_path_factory: pytest.TempPathFactory, dotnet_host: str) -> Path:
    """A folder as ``dotnet publish`` writes it, with the platform's interfaces and entry point."""
    folder = tmp_path_factory.mktemp("published")
    sources = Path(__file__).with_name("dotnet")
    built: list[Path] = []
    for name, files in (
        ("Microsoft.Extensions.Logging.Abstractions", ["Logging.cs"]),
        ("Aliyun.Serverless.Core", ["Core.cs"]),
        ("Microsoft.AspNetCore.Http", ["AspNet.cs"]),
        ("Aliyun.Serverless.Core.Http", ["CoreHttp.cs"]),
        ("Example", ["Handlers.cs", "Web.cs"]),
    ):
        target = folder / f"{name}.dll"
        try:
            compiled.compile_assembly(
                dotnet_host, [sources / file for file in files], target, built, program=name == "Example"
            )
        except compiled.CompilerMissing as missing:
            pytest.skip(str(missing))
        built.append(target)
    return folder
