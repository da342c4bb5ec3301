"""Flows, schedules, buckets and roles of ``localyun.yaml``, its deployments and its commands.

Resources are created or changed at every start by the services' own methods, which check them; mistakes visible in the
file alone are refused before. Deployments and commands are processes of their own, whose output goes to the log.
"""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from emulator.config import FILE_NAME, Config, ConfigError, placed
from emulator.deploy.declared import DECLARED
from emulator.deploy.localyun_yaml import Declarations, check, raised, root_of
from emulator.deploy.places import LocatedValue
from emulator.kernel.clock import Clock
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.identity import Tenant
from emulator.kernel.phrases import Phrase, phrase
from emulator.kernel.system import apart, end_session, own_command
from emulator.kernel.tasks import kill
from emulator.oss.model import BUCKET_ACLS, STORAGE_CLASSES, Caller
from emulator.oss.service import LazyStorage
from emulator.services.mns.service import MessageService
from emulator.services.ram import codec
from emulator.services.ram import model as roles
from emulator.services.ram.model import Holder, HolderKind, PolicyType, Role
from emulator.services.ram.service import AccessManagement
from emulator.services.workflow import model
from emulator.services.workflow.errors import WorkflowError
from emulator.services.workflow.model import FlowSettings, ScheduleSettings
from emulator.services.workflow.service import Workflow
from emulator.wire.schema.kinds import AS_WRITTEN, TEXTS, JsonText, OneOf, Shape, member, needed, record

_log = logging.getLogger(__name__)

_SHOWN = 4000
"""Characters of a failed command's output that an error repeats."""
_LAST_LINE = 200
"""Characters of the last line of output that a problem of the status repeats."""


FLOW = Shape(
    "Flow",
    (
        needed("Definition", AS_WRITTEN)._replace(
            help=("the steps: a text, a map or the name of a file", "流程定义：字符串、对象或文件名")
        ),
        *(each._replace(required=False) for each in model.FLOW.without("Environment")),
    ),
)
SCHEDULE = Shape("Schedule", (needed("FlowName")._replace(help=("flow to start", "要启动的流程")), *model.SCHEDULE))
BUCKET = record(
    member("Acl", OneOf(BUCKET_ACLS))._replace(help=("access without a signature", "不带签名时的访问权限")),
    member("StorageClass", OneOf(STORAGE_CLASSES))._replace(help=("stored, without effect", "只保存，不起作用")),
)
ROLE = roles.ROLE.extended(
    member("Policies", TEXTS)._replace(help=("names of the attached policies", "附加的策略名称"))
)
"""The attributes of each kind in the file; docs/configuration.md lists them."""

SHAPES: Mapping[str, Shape] = {"flows": FLOW, "schedules": SCHEDULE, "buckets": BUCKET, "roles": ROLE}
_DEFINITION_FILES = (".yml", ".yaml", ".json")


@frozen(kw_only=False)
class Seed:
    """A resource with its attributes in the file, checked."""

    part: LocatedValue
    values: dict[str, Any]


class Seeds:
    """The resources, deployments, commands and faults in a configuration; *read_fault* reads and checks a fault.

    Raises: ConfigError with the places of all that cannot be made.
    """

    def __init__(
        self, config: Config, tenant: Tenant, clock: Clock, read_fault: Callable[[LocatedValue], object]
    ) -> None:
        self._folder = config.resources.folder
        self._tenant = tenant
        self._clock = clock
        root = root_of(config)
        self._messaging = Declarations(root, tenant)
        self._definition_files: dict[str, str] = {}
        """The files of definitions by the names of their flows, as they are written."""
        self._seeds = {
            kind: [Seed(part, DECLARED.read(shape, part)) for part in root.member(kind).named().entries()]
            for kind, shape in SHAPES.items()
        }
        for seed in self._seeds["flows"]:
            self._read_definition(seed)
            self._name_role(seed)
        self._deployments = root.member("deploy").items()
        for part in self._deployments:
            if (text := part.text()) and not (self._folder / text).exists():
                part.problem(Phrase("there is no file {file}", file=self._folder / text))
        self._hooks = _hooks(root.member("hooks"))
        for part in root.member("faults").items():
            read_fault(part)
        self.problems: list[str] = []
        """The command that has failed since the start, if one has."""
        self._deployments_left = len(self._deployments)
        self._hooks_left = len(self._hooks)
        check(root.findings)

    @property
    def commands_left(self) -> int:
        """How many deployments and commands have still to end."""
        return self._deployments_left + self._hooks_left

    def apply_messaging(self, service: MessageService) -> None:
        """Create or change queues and topics; see `Declarations.apply`."""
        self._messaging.apply(service)

    async def apply(self, access: AccessManagement, objects: LazyStorage, workflow: Workflow) -> None:
        """Create or change the resources other than queues and topics.

        Raises: ConfigError when a service refuses one.
        """
        makers: Mapping[str, Callable[[Seed], Awaitable[None]]] = {
            "roles": lambda seed: self._apply_role(seed, access),
            "buckets": lambda seed: self._apply_bucket(seed, objects),
            "flows": lambda seed: self._apply_flow(seed, workflow),
            "schedules": lambda seed: self._apply_schedule(seed, workflow),
        }
        for kind, make in makers.items():
            for seed in self._seeds[kind]:
                with raised(seed.part, self._definition_files.get(seed.part.name, "") if kind == "flows" else ""):
                    await make(seed)

    async def _apply_role(self, seed: Seed, access: AccessManagement) -> None:
        account, name = self._tenant.account, codec.entity_name({"RoleName": seed.part.name}, "RoleName")
        values, now = seed.values, self._clock.now()
        before = access.store.find(Role, account, name)
        role = Role(
            name=name,
            **roles.ROLE.defaults() | _chosen(seed, roles.ROLE),
            created_at=before.created_at if before else now,
            updated_at=before.updated_at if before else now,
        )
        codec.check_trust(role.trust, "AssumeRolePolicyDocument")
        if role != before:
            access.store.put(account, replace(role, updated_at=now))
        holder = Holder(account=account, kind=HolderKind.ROLE, name=name)
        present = {(each.type, each.policy) for each in access.store.attachments(holder)}
        for text in values.get("Policies", ()):
            kind, policy = PolicyType.CUSTOM, text
            if access.store.policy(account, text) is None:
                kind = PolicyType.SYSTEM
            policy = access.policy(account, kind, text).name
            if (kind, policy) not in present:
                access.store.attach(holder, kind, policy, now)

    async def _apply_bucket(self, seed: Seed, objects: LazyStorage) -> None:
        storage = await objects.storage()
        caller = Caller(
            account=self._tenant.account,
            region=self._tenant.region,
            principal=self._tenant.account,
            request_id="",
            source_ip="",
            now=self._clock.now(),
        )
        await storage.create_bucket(
            caller, seed.part.name, seed.values.get("Acl", ""), seed.values.get("StorageClass", "Standard")
        )

    async def _apply_flow(self, seed: Seed, workflow: Workflow) -> None:
        name, definition = seed.part.name, seed.values["Definition"]
        chosen = _chosen(seed, model.FLOW)
        try:
            before = workflow.flows.get(self._tenant, name)
        except WorkflowError:
            await workflow.flows.create(self._tenant, name, definition, FlowSettings(**chosen))
            return
        if before.definition != definition or replace(before.settings, **chosen) != before.settings:
            await workflow.flows.update(self._tenant, name, definition, lambda settings: replace(settings, **chosen))

    async def _apply_schedule(self, seed: Seed, workflow: Workflow) -> None:
        name, flow = seed.part.name, seed.values["FlowName"]
        chosen = _chosen(seed, model.SCHEDULE)
        workflow.flows.get(self._tenant, flow)
        try:
            before = workflow.schedules.get(self._tenant, flow, name).settings
        except WorkflowError:
            await workflow.schedules.create(self._tenant, flow, name, ScheduleSettings(**chosen))
            return
        if replace(before, **chosen) != before:  # an update restarts the period of an interval
            await workflow.schedules.update(self._tenant, flow, name, lambda settings: replace(settings, **chosen))

    def _read_definition(self, seed: Seed) -> None:
        """Replace the file name of a definition, or a map, by the definition's text."""
        value = seed.values.get("Definition")
        if isinstance(value, str) and "\n" not in value and value.endswith(_DEFINITION_FILES):
            path = self._folder / value
            try:
                value = path.read_text(encoding="utf-8-sig")
                self._definition_files[seed.part.name] = seed.values["Definition"]
            except (OSError, UnicodeDecodeError) as error:
                reason = phrase(getattr(error, "strerror", None) or str(error))
                seed.part.problem(Phrase("Definition: {path} cannot be read ({reason})", path=path, reason=reason))
        elif isinstance(value, dict):
            value = _json(value)
        if isinstance(value, str):
            seed.values["Definition"] = value

    def _name_role(self, seed: Seed) -> None:
        """Replace the name of a role by its ARN."""
        role = seed.values.get("RoleArn")
        if role and not role.startswith("acs:"):
            seed.values["RoleArn"] = f"acs:ram::{self._tenant.account}:role/{role}"

    async def deploy(self, environment: Mapping[str, str]) -> None:
        """Deploy the files in order; *environment* has the variables that lead to this emulator.

        Raises: ConfigError with the output of the command.
        """
        self._deployments_left = len(self._deployments)
        try:
            for each in self._deployments:
                code, said = await self._run(own_command("deploy", "--yes", each.text()), environment)
                if code != 0:
                    raise ConfigError(
                        placed(each.mark, Phrase("{name}: {problem}", name=".".join(each.path), problem=said))
                    )
                self._deployments_left -= 1
        finally:
            self._deployments_left = 0

    async def ready(self, environment: Mapping[str, str]) -> None:
        """Run the commands in order, once the emulator is ready; one that fails is logged, a problem, and the last."""
        try:
            await self._run_hooks(environment)
        finally:
            self._hooks_left = 0

    async def _run_hooks(self, environment: Mapping[str, str]) -> None:
        for each in self._hooks:
            name = ".".join(each.path)
            _log.info("%s runs: %s", name, each.text())
            code, said = await self._run(each.text(), environment)
            if said:
                _log.info("%s: %s", name, said)
            if code != 0:
                self.problems.append(f"{FILE_NAME}:{each.mark.line}: {_failure(name, code, said)}")
                _log.error(self.problems[-1])
                return
            self._hooks_left -= 1

    async def _run(self, command: str | Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
        """Run a shell line, or a program with arguments; return its exit code and output."""
        how: dict[str, Any] = {
            "cwd": self._folder,
            "env": {**os.environ, **environment, "PATH": _with_own_folder(os.environ.get("PATH", os.defpath))},
            "stdin": asyncio.subprocess.DEVNULL,
            "stdout": asyncio.subprocess.PIPE,
            "stderr": asyncio.subprocess.STDOUT,
            **apart(),
        }
        if isinstance(command, str):
            beginning = asyncio.ensure_future(asyncio.create_subprocess_shell(command, **how))
        else:
            beginning = asyncio.ensure_future(asyncio.create_subprocess_exec(*command, **how))
        try:
            process = await asyncio.shield(beginning)
            output, _ = await process.communicate()
        except asyncio.CancelledError:
            process = await beginning  # the loop would end the shell alone
            kill(process)
            end_session(process.pid)  # what a shell has started would go on with whatever emulator comes next
            raise
        return process.returncode or 0, output.decode("utf-8", "replace").strip()[-_SHOWN:]


def _with_own_folder(path: str) -> str:
    """Return a search path with the folder of ``localyun`` at its end, for users without an activated environment."""
    return os.pathsep.join((path, os.path.dirname(sys.executable)))  # noqa: PTH120 - the value of a variable is a string


def _chosen(seed: Seed, shape: Shape) -> dict[str, Any]:
    """Return the settings in the file, as the service keeps them."""
    chosen = {each.attribute: (each, seed.values[each.name]) for each in shape.stored if each.name in seed.values}
    return {name: _json(value) if isinstance(row.kind, JsonText) else value for name, (row, value) in chosen.items()}


def _hooks(part: LocatedValue) -> list[LocatedValue]:
    commands = []
    for occasion in part.entries():
        if occasion.name != "ready":
            occasion.problem("there is no such occasion; commands run when the emulator is ready")
            continue
        for command in occasion.items():
            command.text()  # reports a command that is not a string
            commands.append(command)
    return commands


def _failure(name: str, code: int, said: str) -> Phrase:
    """Return the message about a failed command, with the last line of its output."""
    if not said:
        return Phrase("{name} has failed with exit code {code}", name=name, code=code)
    last = said.splitlines()[-1][-_LAST_LINE:]
    return Phrase("{name} has failed with exit code {code}: {said}", name=name, code=code, said=last)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
