"""The inventory of an emulator: its resources as a deployment file would describe them.

They are listed here, read by their providers, and ordered so that they can be created again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any
from urllib.parse import quote

from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Refused, Resource, type_of
from emulator.deploy.provider import BESIDE, LATEST, TAGS, ApiClient, Identity, Reply, path_of
from emulator.deploy.service_providers import FNF, MNS, RAM
from emulator.kernel.frozen import frozen, replace
from emulator.wire.xml import parse

_V2, _V3 = "/2016-08-15", "/2023-03-30"
_PAGE = 100

NO_OBJECT_STORAGE = "OperationNotSupported"
OF_THE_EMULATOR = "localyun-code-"
"""The prefix of the bucket for uploaded packages of code."""

OF_THE_CLOUD = "Aliyun"
"""The prefix of roles that the cloud creates itself; every account has them."""


@frozen(kw_only=False)
class Place:
    """An existing resource: its kind, its identity, and the attributes that a deployment's record would have."""

    kind: str
    identity: Identity
    attributes: Mapping[str, str] = {}
    description: str | None = None
    """The description, of a version only."""
    beside: tuple[str, ...] = ()
    """Properties that no deployment file can have, in words."""
    tags: Mapping[str, str] = {}
    """Tags that the resource's own answer does not have."""


Wanted = Callable[[str, Identity], bool]
"""Whether a resource of this kind and identity is wanted."""


Named = Callable[[str], bool]
"""Whether the resource of this name, and those that belong to it, are wanted."""


def inventory(
    api: ApiClient, wanted: Wanted = lambda kind, identity: True, named: Named = lambda name: True
) -> list[Resource]:
    """Return the account's resources that are *wanted*, each with the properties that create it again.

    Resources that are not *named* are not even read, nor those that belong to them.

    Raises: Refused.
    """
    resources = []
    for place in _places(api, named):
        if not wanted(place.kind, place.identity):
            continue
        provider = PROVIDERS[place.kind]
        actual = provider.find(api, place.identity, place.attributes)
        if actual is None:
            continue  # deleted since it was listed
        saved = provider.saved(api, _named(place), actual)
        said = {name: value for name, value in saved.properties.items() if value != provider.usual.get(name)}
        properties = {name: value for name, value in said.items() if not _is_nothing(value)}
        properties |= {name: number for name, number in place.attributes.items() if number}
        if beside := [*place.beside, *(word for name, word in _BESIDE.items() if actual.content.get(name))]:
            properties[BESIDE] = ", ".join(beside)
        if tags := place.tags or _tags(actual.content.get("tags") or actual.content.get("Tags") or ()):
            properties[TAGS] = dict(tags)
        resources.append(replace(saved, properties=properties))
    return resources


_BESIDE = {"EncryptionEnabled": "encryption", "invocationRestriction": "disabled invocation"}


def _tags(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the tags in a list of rows with Key and Value, or TagKey and TagValue."""
    return {
        str(row.get("TagKey") or row.get("Key")): str(row.get("TagValue") or row.get("Value") or "") for row in rows
    }


def _is_nothing(value: Any) -> bool:
    """Whether a property can be left out: it is empty, or a policy of queues that is switched off."""
    return value in (None, "", [], {}) or (isinstance(value, Mapping) and value.get("Enabled") is False)


def _named(place: Place) -> Resource:
    properties = {} if place.description is None else {"description": place.description}
    logical, type_name = "/".join(place.identity), type_of(place.kind)
    return Resource(logical=logical, type=type_name, kind=place.kind, identity=place.identity, properties=properties)


def _places(api: ApiClient, named: Named) -> Iterator[Place]:
    yield from _access(api, named)
    yield from _buckets(api, named)
    yield from _messages(api, named)
    for row in _rest(api, f"{_V3}/layers", "layers"):
        name, newest = row["layerName"], int(row["version"])
        if not named(name):
            continue
        versions = _rest(api, path_of(_V3 + "/layers/{0}/versions", (name,)), "layers")
        older = sorted(number for each in versions if (number := int(each["version"])) != newest)
        yield Place("fc3.layer", (name,), {"Version": str(newest), "Older": _listed(older)})
    yield from _services(api, named)
    yield from _functions(api, named)
    for row in _rest(api, f"{_V3}/custom-domains", "customDomains"):
        if not named(row["domainName"]):
            continue
        routes = (row.get("routeConfig") or {}).get("routes") or []
        yield Place(
            f"{'fc' if any(each.get('serviceName') for each in routes) else 'fc3'}.domain", (row["domainName"],)
        )
    yield from _flows(api, named)


def _services(api: ApiClient, named: Named) -> Iterator[Place]:
    limited = {_resource_parts(str(row["resource"]))[::2] for row in _rest(api, f"{_V2}/on-demand-configs", "configs")}
    for row in _rest(api, f"{_V2}/services", "services"):
        service = row["serviceName"]
        if not named(service):
            continue
        yield Place("fc.service", (service,), tags=_tags_2(api, service))
        path = path_of(_V2 + "/services/{0}", (service,))
        functions = [each["functionName"] for each in _rest(api, f"{path}/functions", "functions")]
        for name in functions:
            beside = ("on-demand configuration",) if (service, name) in limited else ()
            yield Place("fc.function", (service, name), beside=beside)
        yield from _newest_version(api, "fc.version", service)
        for each in _rest(api, f"{path}/aliases", "aliases"):
            yield Place("fc.alias", (service, each["aliasName"]))
        for name in functions:
            own = path_of(_V2 + "/services/{0}/functions/{1}", (service, name))
            for each in _rest(api, f"{own}/triggers", "triggers"):
                yield Place("fc.trigger", (service, name, each["triggerName"]))
            for each in _rest(api, f"{own}/async-invoke-configs", "configs"):
                yield Place("fc.async", (service, name, each.get("qualifier") or LATEST))
        for each in _rest(api, f"{_V2}/provision-configs?serviceName={quote(service, safe='')}", "provisionConfigs"):
            _, qualifier, name = _resource_parts(str(each["resource"]))
            yield Place("fc.provision", (service, qualifier, name))


def _tags_2(api: ApiClient, service: str) -> Mapping[str, str]:
    return api.functions("GET", f"{_V2}/tag?resourceArn={quote(f'services/{service}', safe='')}").get("tags") or {}


def _functions(api: ApiClient, named: Named) -> Iterator[Place]:
    for row in _rest(api, f"{_V3}/functions", "functions"):
        name = row["functionName"]
        if not named(name):
            continue
        path = path_of(_V3 + "/functions/{0}", (name,))
        yield Place("fc3.function", (name,))
        yield from _newest_version(api, "fc3.version", name)
        for what in ("alias", "trigger"):
            plural = "aliases" if what == "alias" else "triggers"
            for each in _rest(api, f"{path}/{plural}", plural):
                yield Place(f"fc3.{what}", (name, each[f"{what}Name"]))
        yield from _settings(api, name)


_SETTINGS = (
    ("fc3.async", "async-invoke-configs", "configs"),
    ("fc3.concurrency", "concurrency-configs", "configs"),
    ("fc3.provision", "provision-configs", "provisionConfigs"),
    ("fc3.scaling", "scaling-configs", "scalingConfigs"),
)


def _settings(api: ApiClient, name: str) -> Iterator[Place]:
    for kind, path, member in _SETTINGS:
        for each in _rest(api, f"{_V3}/{path}?functionName={quote(name, safe='')}", member):
            arn = str(each.get("functionArn") or each.get("resource") or "")
            qualifier = each.get("qualifier") or arn.partition(f"functions/{name}/")[2] or LATEST
            yield Place(kind, (name,) if kind == "fc3.concurrency" else (name, qualifier))


def _resource_parts(resource: str) -> tuple[str, str, str]:
    """Return service, qualifier and function of ``...services/s.q/functions/f`` or ``account#s#q#f``."""
    if "#" in resource:
        service, qualifier, name = resource.rpartition(":")[2].split("#")[-3:]
        return service, qualifier, name
    owner, _, name = resource.partition("services/")[2].partition("/functions/")
    service, _, qualifier = owner.partition(".")
    return service, qualifier or LATEST, name


def _newest_version(api: ApiClient, kind: str, owner: str) -> Iterator[Place]:
    """Yield the newest version, which publishing creates again; older versions cannot be created again."""
    rows = list(_rest(api, path_of(VERSIONS[kind].path + "/versions", (owner,)), "versions"))
    if rows:
        *older, newest = sorted(rows, key=lambda row: int(row["versionId"]))
        numbers = {"VersionId": str(newest["versionId"]), "Older": _listed(int(row["versionId"]) for row in older)}
        numbers[OUTDATED] = "yes" if is_outdated(api, kind, owner, numbers["VersionId"]) else ""
        yield Place(kind, (owner, "version"), numbers, newest.get("description"))


OUTDATED = "Outdated"
"""The property of a version for which `is_outdated` is true."""

_NOT_PUBLISHED = frozenset({"description", "createdTime", "lastModifiedTime"})
"""Members that a version has of its own."""


@frozen(kw_only=False)
class _Published:
    """What versions are made of: the path of their owner, its form for one version, and its functions."""

    path: str
    version: str
    functions: str = ""


VERSIONS = {
    "fc.version": _Published(_V2 + "/services/{0}", "{path}.{number}", "/functions"),
    "fc3.version": _Published(_V3 + "/functions/{0}", "{path}?qualifier={number}"),
}


def is_outdated(api: ApiClient, kind: str, owner: str, number: str) -> bool:
    """Whether publishing now would make another version: of other code, or with other settings."""
    about = VERSIONS[kind]
    path = path_of(about.path, (owner,))

    def content(place: str) -> list[Mapping[str, Any]]:
        rows: list[Mapping[str, Any]] = [api.functions("GET", place)]
        if about.functions:
            rows += sorted(_rest(api, place + about.functions, "functions"), key=lambda row: str(row["functionName"]))
        return [{name: value for name, value in row.items() if name not in _NOT_PUBLISHED} for row in rows]

    return content(about.version.format(path=path, number=number)) != content(path)


def _listed(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _rest(api: ApiClient, path: str, member: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of every page of a list."""
    path += f"{'&' if '?' in path else '?'}limit={_PAGE}"

    def ask(token: str) -> Reply:
        return api.functions("GET", path + (f"&nextToken={quote(token, safe='')}" if token else ""))

    for page in _pages(ask, "nextToken"):
        yield from page.get(member) or []


def _pages(ask: Callable[[str], Reply], marker: str) -> Iterator[Reply]:
    """Yield the answers of *ask*, called with "" and then with the *marker* of each answer until it is empty."""
    begin = ""
    while True:
        page = ask(begin)
        yield page
        begin = str(page.get(marker) or "")
        if not begin:
            return


def _flows(api: ApiClient, named: Named) -> Iterator[Place]:
    limit = {"Limit": str(_PAGE)}
    for flow in _by_marker(api, FNF, "ListFlows", "NextToken", ("Flows",), limit):
        name = flow["Name"]
        if not named(name):
            continue
        yield Place("fnf.flow", (name,))
        own = {**limit, "FlowName": name}
        for schedule in _by_marker(api, FNF, "ListSchedules", "NextToken", ("Schedules",), own):
            yield Place("fnf.schedule", (name, schedule["ScheduleName"]))


def _messages(api: ApiClient, named: Named) -> Iterator[Place]:
    for queue in _by_page(api, "ListQueue", {}):
        if named(queue["QueueName"]):
            yield Place("mns.queue", (queue["QueueName"],))
    for topic in _by_page(api, "ListTopic", {}):
        name = topic["TopicName"]
        if not named(name):
            continue
        yield Place("mns.topic", (name,))
        for each in _by_page(api, "ListSubscriptionByTopic", {"TopicName": name}):
            yield Place("mns.subscription", (name, each["SubscriptionName"]))


def _by_page(api: ApiClient, action: str, parameters: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    for number in count(1):
        reply = api.rpc(MNS, action, {**parameters, "PageNum": str(number), "PageSize": str(_PAGE)})
        data = reply.get("Data") or {}
        yield from data.get("PageData") or []
        if number >= int(data.get("Pages") or 0):
            return


def _access(api: ApiClient, named: Named) -> Iterator[Place]:
    policies = ("Policies", "Policy")
    for policy in _by_marker(api, RAM, "ListPolicies", "Marker", policies, {"PolicyType": "Custom"}):
        if named(policy["PolicyName"]):
            yield Place("ram.policy", (policy["PolicyName"],), tags=_tags(_within(policy, ("Tags", "Tag"))))
    for role in _by_marker(api, RAM, "ListRoles", "Marker", ("Roles", "Role"), {}):
        name = role["RoleName"]
        if name.startswith(OF_THE_CLOUD) or not named(name):
            continue
        yield Place("ram.role", (name,), tags=_tags(_within(role, ("Tags", "Tag"))))
        for each in _by_marker(api, RAM, "ListPoliciesForRole", "Marker", policies, {"RoleName": name}):
            yield Place("ram.attachment", (each["PolicyType"], each["PolicyName"], name))


def _buckets(api: ApiClient, named: Named) -> Iterator[Place]:
    """Yield the buckets, without the emulator's own for packages; none without the object storage."""
    marker, more = "", True
    while more:
        try:
            listing = parse(api.objects("GET", f"/?marker={quote(marker, safe='')}"))
        except Refused as error:
            if error.code == NO_OBJECT_STORAGE:
                return
            raise
        for bucket in (listing.find("Buckets") or listing).all("Bucket"):
            name = bucket.text_of("Name") or ""
            if named(name) and not name.startswith(OF_THE_EMULATOR):
                yield Place("oss.bucket", (name,), tags=_tags_of_bucket(api, name))
        marker = listing.text_of("NextMarker") or ""
        more = bool(marker) and listing.text_of("IsTruncated") == "true"


def _tags_of_bucket(api: ApiClient, name: str) -> dict[str, str]:
    found = parse(api.objects("GET", f"/{name}?tagging")).find("TagSet")
    return {tag.text_of("Key") or "": tag.text_of("Value") or "" for tag in found.all("Tag")} if found else {}


def _by_marker(
    api: ApiClient, version: str, action: str, marker: str, members: tuple[str, ...], parameters: Mapping[str, str]
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of every page of a list; *members* are the keys that lead to the rows in an answer."""

    def ask(begin: str) -> Reply:
        return api.rpc(version, action, {**parameters, **({marker: begin} if begin else {})})

    for page in _pages(ask, marker):
        yield from _within(page, members)


def _within(value: Any, members: Iterable[str]) -> Iterable[Mapping[str, Any]]:
    """Return the rows at the path *members* of an answer."""
    for member in members:
        value = value.get(member) or {}
    return value or ()
