"""Resources made, changed and deleted: each name has one state, or one of two while an operation is in doubt."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from benchmarks.crash.functions import SERVICE, new_function
from benchmarks.crash.site import Link, Reply, Site, Unanswered, encoded, package

FLOW = "version: v1\ntype: flow\nsteps:\n  - {{type: pass, name: step{version}}}\n"
CODE = "def handler(event, context):\n    return '{version}'\n"


class Kind:
    """How resources of one kind are made, changed, deleted and read; a version is a number above 0."""

    def __init__(
        self,
        name: str,
        create: Callable[[str, int], bytes],
        update: Callable[[str, int], bytes],
        delete: Callable[[str], bytes],
        read: Callable[[str], bytes],
        version: Callable[[Reply], int],
    ) -> None:
        self.name, self.create, self.update, self.delete = name, create, update, delete
        self.read, self.version = read, version


def kinds(site: Site) -> list[Kind]:
    """Return the kinds: queues, topics, functions, flows."""

    def function_update(name: str, version: int) -> bytes:
        code = {"zipFile": encoded(package(CODE.format(version=version)))}
        body = json.dumps({"description": str(version), "code": code}).encode()
        return site.fc("PUT", f"/services/{SERVICE}/functions/{name}", body)

    def queue(version: int) -> str:
        return f"<Queue><VisibilityTimeout>{version}</VisibilityTimeout></Queue>"

    def topic(version: int) -> str:
        return f"<Topic><MaximumMessageSize>{1024 + version}</MaximumMessageSize></Topic>"

    return [
        Kind(
            "Queue",
            lambda name, version: site.mns("PUT", f"/queues/{name}", queue(version)),
            lambda name, version: site.mns("PUT", f"/queues/{name}?metaoverride=true", queue(version)),
            lambda name: site.mns("DELETE", f"/queues/{name}"),
            lambda name: site.mns("GET", f"/queues/{name}"),
            lambda reply: int(reply.elements("VisibilityTimeout")[0]),
        ),
        Kind(
            "Topic",
            lambda name, version: site.mns("PUT", f"/topics/{name}", topic(version)),
            lambda name, version: site.mns("PUT", f"/topics/{name}?metaoverride=true", topic(version)),
            lambda name: site.mns("DELETE", f"/topics/{name}"),
            lambda name: site.mns("GET", f"/topics/{name}"),
            lambda reply: int(reply.elements("MaximumMessageSize")[0]) - 1024,
        ),
        Kind(
            "Function",
            lambda name, version: site.fc(
                "POST", f"/services/{SERVICE}/functions", new_function(name, CODE.format(version=version), str(version))
            ),
            function_update,
            lambda name: site.fc("DELETE", f"/services/{SERVICE}/functions/{name}"),
            lambda name: site.fc("GET", f"/services/{SERVICE}/functions/{name}"),
            lambda reply: int(reply.json()["description"]),
        ),
        Kind(
            "Flow",
            lambda name, version: site.rpc(
                "CreateFlow", Name=name, Type="FDL", Description=str(version), Definition=FLOW.format(version=version)
            ),
            lambda name, version: site.rpc(
                "UpdateFlow", Name=name, Description=str(version), Definition=FLOW.format(version=version)
            ),
            lambda name: site.rpc("DeleteFlow", Name=name),
            lambda name: site.rpc("DescribeFlow", Name=name),
            lambda reply: _same(int(reply.json()["Description"]), reply.json()["Definition"]),
        ),
    ]


def _same(version: int, definition: str) -> int:
    return version if f"step{version}}}" in definition else -version


class Resources:
    """One client over a few names of each kind."""

    def __init__(self, site: Site, names: int = 4) -> None:
        self._site = site
        self._random = site.random("resources")
        self._link = Link(site)
        self._kinds = kinds(site)
        self._names = names
        self._known: dict[tuple[str, str], int] = {}
        self._doubt: tuple[tuple[str, str], int] | None = None
        self._versions = 0

    async def prepare(self) -> None:
        """Nothing is needed."""

    def clients(self) -> list[Coroutine[Any, Any, None]]:
        """Return the client."""
        return [self._work()]

    async def _work(self) -> None:
        self._link.close()
        try:
            while not self._site.over.is_set():
                await self._change(self._random.choice(self._kinds))
                await self._site.rest(self._random.uniform(0, 0.03))
        except Unanswered:
            self._site.record.note("resource", "broken off", doubt=self._doubt)
        finally:
            self._link.close()

    async def _change(self, kind: Kind) -> None:
        record = self._site.record
        key = kind.name, f"res-{self._random.randrange(self._names)}"
        self._versions = self._versions % 40_000 + 1
        version = self._versions
        if not self._known.get(key):
            verb, request = "Create", kind.create(key[1], version)
        elif self._random.random() < 0.6:
            verb, request = "Update", kind.update(key[1], version)
        else:
            verb, request, version = "Delete", kind.delete(key[1]), 0
        self._doubt = key, version
        record.note(verb + kind.name, "asked", name=key[1], version=version)
        try:
            reply = await self._link.ask(request)
        except Unanswered:
            record.note(verb + kind.name, "unanswered", name=key[1])
            raise
        if reply.status // 100 != 2:
            record.find(f"{verb}{kind.name} was refused", name=key[1], answer=reply.body[:300].decode())
        self._known[key], self._doubt = version, None
        record.note(verb + kind.name, "acknowledged", name=key[1], version=version)

    async def audit(self) -> None:
        """Every name is in the state it was last told to be in; the one in doubt in the old or the new one."""
        for kind in self._kinds:
            for number in range(self._names):
                key = kind.name, f"res-{number}"
                reply = await self._link.ask(kind.read(key[1]))
                found = kind.version(reply) if reply.status == 200 else 0
                allowed = {self._known.get(key, 0)}
                if self._doubt is not None and self._doubt[0] == key:
                    allowed.add(self._doubt[1])
                if found not in allowed:
                    self._site.record.find(f"{kind.name} {key[1]} is wrong", found=found, allowed=sorted(allowed))
                self._known[key] = found
        self._doubt = None
        self._link.close()

    async def settle(self) -> None:
        """Every function runs the code of its version."""
        for (kind, name), version in sorted(self._known.items()):
            if kind == "Function" and version:
                path = f"/services/{SERVICE}/functions/{name}/invocations"
                reply = await self._link.ask(self._site.fc("POST", path, b"{}"))
                if reply.body != str(version).encode():
                    self._site.record.find(
                        f"function {name} runs other code", version=version, answer=reply.body.decode()
                    )
        self._link.close()
