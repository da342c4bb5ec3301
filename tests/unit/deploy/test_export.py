"""What runs as files: secrets and the account stay out, field tables work backwards, code comes back the same."""

import json
from io import BytesIO
from zipfile import ZipFile

import pytest
import yaml

from emulator.deploy import fc_fields, service_fields
from emulator.deploy.export import s_yaml, template, terraform
from emulator.deploy.export.resources import Job, Names, chosen, has_place, looks_secret, needs, parts, portable
from emulator.deploy.files import same_code, write_package
from emulator.deploy.kinds import GROUPS, PROVIDERS
from emulator.deploy.model import FileProblems, Resource
from emulator.deploy.notation import members, written_members
from emulator.deploy.places import Findings, LocatedValue, whole
from emulator.deploy.planner import read
from emulator.deploy.provider import ActualState
from emulator.kernel.identity import default_resource_group
from emulator.services.mns.queues.model import QUEUE
from tests.unit.deploy.conftest import WORLD


def a_package(**files):
    archive = BytesIO()
    with ZipFile(archive, "w") as target:
        for name, text in files.items():
            target.writestr(name, text)
    return archive.getvalue()


def a_resource(kind, *identity, package=None, **properties):
    return Resource(logical="/".join(identity), type=kind, kind=kind, identity=identity, properties=properties, line=0,
                    package=package)  # fmt: skip


def a_world():
    """Return one of many things, a secret among them."""
    arn = f"acs:mns:{WORLD.region}:{WORLD.account}"
    return [
        a_resource("ram.policy", "send", PolicyDocument='{"Version": "1", "Statement": []}', Description="sends"),
        a_resource("oss.bucket", "letters", AccessControl="public-read", StorageClass="IA", DeletionForce=False),
        a_resource("ram.role", "worker", AssumeRolePolicyDocument='{"Version": "1", "Statement": []}'),
        a_resource("ram.attachment", "Custom", "send", "worker"),
        a_resource("mns.queue", "jobs", VisibilityTimeout=40, QueueType="normal"),
        a_resource("mns.topic", "news", MaxMessageSize=65536),
        a_resource("mns.subscription", "news", "to-jobs", Endpoint=f"{arn}:queues/jobs", NotifyContentFormat="XML"),
        a_resource(
            "fc3.function", "api", package=a_package(**{"index.py": "def handler(event, context): return event\n"}),
            runtime="python3.10", handler="index.handler", memorySize=512, timeout=3,
            role=f"acs:ram::{WORLD.account}:role/worker",
            environmentVariables={"STAGE": "test", "DB_PASSWORD": "pa$$${word}", "TEXT": 'say "hi" %{x} ${y}'},
        ),
        a_resource("fc3.trigger", "api", "web", triggerType="http", qualifier="LATEST",
                   triggerConfig={"authType": "anonymous", "methods": ["GET"]}),
        a_resource("fc3.concurrency", "api", reservedConcurrency=5),
        a_resource("fnf.flow", "order", Definition="version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n",
                   Type="FDL", Description="orders"),
        a_resource("fnf.schedule", "order", "nightly", CronExpression="0 0 3 * * *", Payload='{"a": 1}', Enable=True),
    ]  # fmt: skip


def a_job(folder, resources=None):
    return Job(portable(resources or a_world(), WORLD.account, WORLD.region), folder, "app", WORLD.region)


def test_a_service_without_functions_is_counted_once(tmp_path):
    """The command says how many resources a file describes."""
    done = s_yaml.write(a_job(tmp_path, [a_resource("fc.service", "shop", description="")]))

    assert [each.key for each in done.resources] == ['["fc.service", "shop"]']


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("DB_PASSWORD", "x", True),
        ("ACCESS_KEY_ID", "abc", True),
        ("apiKey", "abc", True),
        ("GREETING", "LTAI4FnT2hQ9sXyz1234", True),
        ("URL", "mysql://root:pw@host/db", True),
        ("ANY", "a1B2c3D4e5F6g7H8i9J0k1L2", True),
        ("STAGE", "test", False),
        ("URL", "https://example.com/a", False),
        ("KEYBOARD", "qwerty", False),
        ("DB_PASSWORD", "", False),
    ],
)
def test_environment_values_that_look_like_keys_are_secrets(name, value, secret):
    """The name or the form of a value makes it a secret."""
    assert looks_secret(name, value) is secret


@pytest.mark.parametrize("write", [s_yaml.write, template.write, terraform.write], ids=["s", "ros", "terraform"])
def test_no_format_writes_a_secret_or_the_account(write, tmp_path):
    """Neither the password nor the account's number is in the text; both are places to be filled in."""
    done = write(a_job(tmp_path))

    assert "pa$$" not in done.text
    assert WORLD.account not in done.text
    assert "API_DB_PASSWORD" in done.text.upper()


@pytest.mark.parametrize("write", [s_yaml.write, template.write, terraform.write], ids=["s", "ros", "terraform"])
def test_the_default_resource_group_of_the_account_is_not_written(write, tmp_path):
    """Another account has another one; what was chosen is written in every format."""
    default = default_resource_group(WORLD.account)
    given = [
        a_resource("fc3.function", "usual", runtime="python3.12", handler="i.h", resourceGroupId=default),
        a_resource("fc3.function", "chosen", runtime="python3.12", handler="i.h", resourceGroupId="rg-mine"),
    ]

    done = write(a_job(tmp_path, given))

    assert default not in done.text
    assert done.text.count("rg-mine") == 1
    assert not done.notes


def test_places_stand_for_the_account_and_the_region_of_resource_names():
    """A resource name is cut into its fixed parts and the two that differ elsewhere."""
    made = portable(a_world(), WORLD.account, WORLD.region).resources
    endpoint = next(each for each in made if each.kind == "mns.subscription").properties["Endpoint"]

    assert has_place(endpoint)
    assert parts(endpoint) == ["acs:mns:", ("region", ""), ":", ("account", ""), ":queues/jobs"]


def test_alias_of_an_older_version_is_left_out_with_a_note():
    """Publishing the code of today makes the newest version only."""
    world = [
        a_resource("fc3.function", "f"),
        a_resource("fc3.version", "f", "version", VersionId="2"),
        a_resource("fc3.alias", "f", "live", versionId="2"),
        a_resource("fc3.alias", "f", "old", versionId="1"),
    ]

    made = portable(world, WORLD.account, WORLD.region)

    assert [each.identity[-1] for each in made.resources if each.kind == "fc3.alias"] == ["live"]
    assert made.notes == ("fc3 alias f/old: it leads to a version that is not made again; left out",)


def a_world_of_aliases():
    """Return a function, its aliases, one of an older version, and what is for each of the two."""
    route = {"path": "/*", "functionName": "f"}
    return [
        a_resource("fc3.function", "f"),
        a_resource("fc3.version", "f", "version", VersionId="2", Older="1"),
        a_resource("fc3.alias", "f", "live", versionId="2"),
        a_resource("fc3.alias", "f", "old", versionId="1"),
        *(
            a_resource(kind, *identity, **properties)
            for alias in ("live", "old")
            for kind, identity, properties in (
                ("fc3.trigger", ("f", f"on-{alias}"), {"triggerType": "http", "qualifier": alias}),
                ("fc3.async", ("f", alias), {}),
                ("fc3.provision", ("f", alias), {}),
                ("fc3.scaling", ("f", alias), {}),
                ("fc3.domain", (f"{alias}.example.com",), {"routeConfig": {"routes": [{**route, "qualifier": alias}]}}),
                ("fnf.flow", (f"flow-{alias}",), {"Definition": f"resourceArn: acs:fc:::functions/f/{alias}"}),
            )
        ),
    ]


def test_what_is_for_an_alias_that_is_left_out_goes_with_it():
    """A trigger on it could not be made; a flow that names it can, and a note says where it leads."""
    made = portable(a_world_of_aliases(), WORLD.account, WORLD.region)

    left = {"/".join(each.identity) for each in a_world_of_aliases()} - {
        "/".join(each.identity) for each in made.resources
    }
    assert left == {"f/old", "f/on-old", "old.example.com"}
    assert {note.partition(":")[0] for note in made.notes} == {
        "fc3 version f/1", "fc3 alias f/old", "fc3 trigger f/on-old", "fc3 asyncInvokeConfig f/old",
        "fc3 provisionConfig f/old", "fc3 scalingConfig f/old", "fc3 customDomain old.example.com",
        "fnf flow flow-old",
    }  # fmt: skip


def test_s_yaml_names_everything_that_is_for_an_alias(tmp_path):
    """It has no place for aliases, so nothing that is written needs one."""
    done = s_yaml.write(a_job(tmp_path, a_world_of_aliases()))

    assert {each.kind for each in done.resources} == {"fc3.function", "fnf.flow"}
    assert any(note.startswith("fc3 trigger f/on-live: ") for note in done.notes)
    assert any(note.startswith("fnf flow flow-live: it names f/live") for note in done.notes)


@pytest.mark.parametrize(
    "text",
    ["${env(X)}", "${file(/etc/hostname)}", "${vars.region}", "{{ name }}", "{{{{x}}}}", "${{ x }}", "1e3", "0x1f", "~",
     "${!a}", "2026-01-01", " a", "a: b", "!Ref x", "'", "a\n\n b", "{accountID}", ""],
)  # fmt: skip
@pytest.mark.parametrize("write", [s_yaml.write, template.write], ids=["s", "ros"])
def test_texts_that_a_tool_would_replace_read_back_as_they_are(write, text, tmp_path):
    """Nothing in a value is a variable, a place to be filled in, or another type than text."""
    environment = {"environmentVariables": {"A": text}, "description": text, "runtime": "python3.10", "handler": "h.h"}
    world = [
        a_resource("fc3.function", "f", package=a_package(**{"index.py": "x = 1\n"}), **environment),
        a_resource("fnf.flow", "w", Definition=f"version: v1\n# {text}", Description=text),
    ]
    done = write(a_job(tmp_path, world))

    read_back = {
        each.kind: each.properties for each in read(whole(done.text, Findings()), WORLD, tmp_path, {}, {}).resources
    }

    assert read_back["fc3.function"]["environmentVariables"] == {"A": text}
    assert read_back["fc3.function"]["description"] == text
    assert read_back["fnf.flow"]["Definition"] == f"version: v1\n# {text}"
    assert read_back["fnf.flow"]["Description"] == text


def test_region_of_every_part_of_an_s_yaml_is_its_variable(tmp_path):
    """It is the one `$` that is meant."""
    text = s_yaml.write(a_job(tmp_path)).text

    assert {each["props"].get("region", "${vars.region}") for each in yaml.safe_load(text)["resources"].values()} == {
        "${vars.region}"
    }


@pytest.mark.parametrize("project", [None, "mine", "serverless-cn-hangzhou-mine"])
def test_s_yaml_asks_again_for_the_log_that_the_tool_makes(tmp_path, project):
    """Its project is named after the account, which differs elsewhere; a project of one's own is named."""
    log = fc_fields.log_of_auto("auto", WORLD.account, WORLD.region)
    log = log if project is None else {**log, "project": project}
    function = a_resource("fc3.function", "api", package=a_package(**{"index.py": ""}), runtime="python3.10",
                          handler="index.handler", logConfig=log)  # fmt: skip

    text = s_yaml.write(a_job(tmp_path, [function])).text

    assert yaml.safe_load(text)["resources"]["api"]["props"]["logConfig"] == ("auto" if project is None else log)


@pytest.mark.parametrize("write", [s_yaml.write, template.write], ids=["s", "ros"])
def test_how_long_a_session_of_a_role_may_last_is_kept(write, tmp_path):
    """It is no attribute of its own kind, and was left out of every format."""
    role = a_resource("ram.role", "r", AssumeRolePolicyDocument='{"Version": "1", "Statement": []}',
                      MaxSessionDuration=7200)  # fmt: skip
    done = write(a_job(tmp_path, [role]))

    (read_back,) = read(whole(done.text, Findings()), WORLD, tmp_path, {}, {}).resources

    assert read_back.properties["MaxSessionDuration"] == 7200


@pytest.mark.parametrize("write", [s_yaml.write, template.write], ids=["s", "ros"])
def test_written_file_reads_back_as_what_was_there(write, tmp_path):
    """Each resource of the file has the properties and the code of the one that runs."""
    done = write(a_job(tmp_path))
    values = {"API_DB_PASSWORD": "pa$$${word}"}
    ros = done.file == "template.yml"

    blueprint = read(whole(done.text, Findings()), WORLD, tmp_path, values if ros else {}, {} if ros else values)

    read_back = {each.key: each for each in blueprint.resources}
    wanted = {each.key: each for each in a_world()}
    assert read_back.keys() == wanted.keys()
    for key, each in wanted.items():
        from emulator.deploy.provider import same

        properties = {name: value for name, value in each.properties.items() if name != "AssumeRolePolicyDocument"}
        assert same(properties, read_back[key].properties), each
        assert same_code(each.package, read_back[key].package)


@pytest.mark.parametrize("capital", [False, True])
def test_field_tables_write_what_they_read(capital):
    """Writing and reading by one table gives the values again."""
    values = {
        "runtime": "python3.10", "handler": "index.handler", "environmentVariables": {"lower": "1"},
        "instanceLifecycleConfig": {"preStop": {"handler": "index.stop", "timeout": 3}}, "layers": ["acs:fc:x"],
        "vpcConfig": {"vpcId": "v", "vSwitchIds": ["a"], "securityGroupId": "s"},
    }  # fmt: skip

    text = written_members(fc_fields.FUNCTION_3, values, capital=capital)
    findings = Findings()

    assert members(LocatedValue(text, (), {}, findings), fc_fields.FUNCTION_3, capital=capital) == values
    assert findings.problems == []
    assert ("Handler" in text) is capital


def test_queue_attributes_are_written_as_they_are_read():
    """The attribute table of queues works in both directions."""
    properties = service_fields.api_properties(QUEUE, {"visibilityTimeout": 40})

    text = service_fields.file_values(QUEUE, properties, capital=True)

    assert text["VisibilityTimeout"] == 40


def test_terraform_has_every_resource_of_the_provider_balanced_and_in_quotes(tmp_path):
    """Each resource is a block of a type of the provider; braces match outside of texts; texts cannot interpolate."""
    done = terraform.write(a_job(tmp_path))

    depth, quoted, previous = 0, False, ""
    for letter in done.text:
        if letter == '"' and previous != "\\":
            quoted = not quoted
        elif not quoted:
            depth += {"{": 1, "}": -1}.get(letter, 0)
        previous = "" if previous == "\\" else letter
        assert depth >= 0
    assert (depth, quoted) == (0, False)
    for kind in {each.kind for each in a_world()}:
        assert f'resource "{terraform.TYPES[kind].name}"' in done.text
    assert r"say \"hi\" %%{x} $${y}" in done.text
    function = next(each for each in a_world() if each.kind == "fc3.function")
    assert (tmp_path / "code" / "api.zip").read_bytes() == function.package
    assert "password = var" not in done.text
    assert "sensitive   = true" in done.text


@pytest.mark.parametrize(
    ("name", "written"),
    [("alwaysAllocateCPU", "always_allocate_cpu"), ("httpGetUrl", "http_get_url"), ("customDNS", "custom_dns"),
     ("vSwitchIds", "vswitch_ids"), ("MaximumMessageSize", "maximum_message_size"), ("enableTLS", "enable_tls")],
)  # fmt: skip
def test_names_of_the_api_become_those_of_the_provider(name, written):
    """Words are parted by underscores, abbreviations stay together."""
    assert terraform.snake(name) == written


def test_s_yaml_says_all_that_the_component_asks_of_provisioned_instances(tmp_path):
    """Component fc3 refuses a setting with a member missing."""
    api = a_resource("fc3.function", "api", package=a_package(**{"index.py": "x = 1\n"}), runtime="python3.10")
    job = a_job(tmp_path, [api, a_resource("fc3.provision", "api", "LATEST", target=2)])

    props = yaml.safe_load(s_yaml.write(job).text)["resources"]["api"]["props"]

    assert props["provisionConfig"] == {
        "defaultTarget": 2, "alwaysAllocateCPU": False, "alwaysAllocateGPU": False, "scheduledActions": [],
        "targetTrackingPolicies": [], "qualifier": "LATEST",
    }  # fmt: skip


def written(*resources):
    """Return the blocks of resources, and the notes."""
    done = terraform.write(a_job(None, list(resources)))
    return done.text.partition('"alicloud_account" "current" {}')[2], done.notes


@pytest.mark.parametrize("kind", [("fc3.function", "server"), ("fc.function", "shop", "server")])
def test_terraform_says_the_handler_of_a_program_that_has_none(kind):
    """The provider requires one of every function, which a custom runtime need not have."""
    text, _ = written(a_resource(*kind, runtime="custom.debian12"), a_resource("fc3.function", "api", handler="a.b"))

    assert [line.split(" = ")[1] for line in text.splitlines() if "handler" in line] == ['"index.handler"', '"a.b"']


def test_terraform_leaves_out_structures_that_nobody_has_set():
    """The API shows them with all their members, the provider refuses them without values."""
    text, notes = written(
        a_resource(
            "fc.service", "s",
            logConfig={"project": "", "logstore": "", "enableRequestMetrics": False, "logBeginRule": "None"},
            vpcConfig={"vpcId": "", "vSwitchIds": [], "securityGroupId": ""},
            nasConfig={"userId": -1, "groupId": -1, "mountPoints": []},
            tracingConfig={"type": None, "params": None},
        )
    )  # fmt: skip

    assert "_config" not in text
    assert notes == ()


def test_terraform_notes_members_that_the_provider_does_not_have():
    """What a block cannot say is left out and named; what it can say is kept."""
    text, notes = written(
        a_resource("fc.service", "s", logConfig={"project": "p", "logstore": "l", "logBeginRule": "DefaultRegex"},
                   tracingConfig={"type": "Jaeger", "params": {"endpoint": "x"}}),
    )  # fmt: skip

    assert "log_begin_rule" not in text
    assert 'project  = "p"' in text
    assert 'params = { "endpoint" = "x" }' in text
    assert notes == ("s: alicloud_fc_service has no argument for log_config.logBeginRule; left out",)


@pytest.mark.parametrize(
    ("endpoint", "kind", "shown"),
    [
        (f"acs:mns:{WORLD.region}:{WORLD.account}:queues/jobs", "queue", "jobs"),
        ("mail:directmail:a@example.com", "email", "a@example.com"),
        ("smq-ep:dm:5:a@example.com", "dm", "smq-ep:dm:5:a@example.com"),
        ("sms:directsms:13800000000", "alisms", "13800000000"),
        ("sms:dayu:13800000000", "alisms", "sms:dayu:13800000000"),
        ("push:app", "mpush", "app"),
        ("kafka:b:9092/t", "kafka", "b:9092/t"),
        ("acs:eventbridge:cn-x:5:eventbus/b", "eventbus", "acs:eventbridge:cn-x:5:eventbus/b"),
        ("acs:fc:cn-x:5:functions/f", "fc", "acs:fc:cn-x:5:functions/f"),
        ("https://example.com/news", "http", "https://example.com/news"),
    ],
)
def test_terraform_names_receivers_as_the_provider_does(endpoint, kind, shown):
    """A queue by its name, a mail by its address; what is shown otherwise than it is given is not made anew for it."""
    text, _ = written(a_resource("mns.subscription", "news", "one", Endpoint=endpoint))

    assert f'endpoint          = "{shown}"' in text
    assert f'push_type         = "{kind}"' in text
    assert ("ignore_changes = [endpoint]" in text) == (endpoint != shown)


def test_terraform_leaves_out_blocks_and_texts_that_are_empty():
    """The provider reads none back, so each would be a change of every plan."""
    text, notes = written(
        a_resource("fc3.async", "api", "LATEST",
                   destinationConfig={"onSuccess": {}, "onFailure": {"destination": "acs:mns:cn-x:1:/queues/q"}}),
        a_resource("fc3.domain", "a.example.com", protocol="HTTP", routeConfig={"routes": [
            {"path": "/", "functionName": "f", "qualifier": "",
             "rewriteConfig": {"equalRules": [], "regexRules": []}}
        ]}),
    )  # fmt: skip

    assert "on_failure" in text
    assert not [name for name in ("on_success", "rewrite_config", "equal_rules", '= ""') if name in text]
    assert notes == ()


def test_terraform_publishes_once_and_imports_a_service():
    """The provider never reads ``publish`` back: after an import it would be a change."""
    text, _ = written(a_resource("fc.service", "s"), a_resource("fc.version", "s", "version"))

    assert "publish = true" in text
    assert "ignore_changes = [publish]" in text


def test_a_layer_keeps_its_license_and_who_may_use_it():
    """Closed where nothing is said."""
    shared, _ = written(a_resource("fc3.layer", "lib", package=None, license="MIT", acl="1"))
    own, _ = written(a_resource("fc3.layer", "lib", package=None))

    assert ('license    = "MIT"' in shared, 'acl        = "1"' in shared, 'acl        = "0"' in own) == (
        True,
        True,
        True,
    )


def test_terraform_writes_what_a_plan_finds_again():
    """No empty block as a list, JSON in the order of Terraform's own, the ACL of layers, queues shown by resource."""
    text, notes = written(
        a_resource("fc3.domain", "a.example.com", protocol="HTTP",
                   routeConfig={"routes": [{"path": "/", "rewriteConfig": {"equalRules": []}}]}),
        a_resource("fc3.trigger", "api", "m", triggerType="mns_topic",
                   triggerConfig={"notifyStrategy": "x", "filter": {"b": 1, "a": 2}}),
        a_resource("fc3.layer", "lib", package=None, compatibleRuntime=["python3.10"]),
        a_resource("mns.subscription", "news", "one", Endpoint="acs:mns:cn-x:1:queues/jobs"),
        a_resource("oss.bucket", "letters", DeletionForce=False),
    )  # fmt: skip

    assert "equal_rules" not in text
    assert 'jsonencode({ "filter" = { "a" = 2, "b" = 1 }, "notifyStrategy" = "x" })' in text
    assert 'acl                = "0"' in text
    assert "ignore_changes = [endpoint]" in text
    assert notes == ()


TAGGED = [
    a_resource("mns.queue", "jobs", Tags={"team": "a", "empty": ""}),
    a_resource("fc.service", "shop", Tags={"of": f"acs:ram::{WORLD.account}:role/worker", "key": "LTAI4abcdefgh12"}),
]


def test_terraform_says_tags(tmp_path):
    """An empty one too, with the account and keys replaced as everywhere; nothing is noted."""
    content = portable(TAGGED, WORLD.account, WORLD.region, terraform.TAGGED)
    done = terraform.write(Job(content, tmp_path, "app", WORLD.region))

    assert 'tags       = { "team" = "a", "empty" = "" }' in done.text
    assert '"of" = "acs:ram::${data.alicloud_account.current.id}:role/worker", "key" = var.shop_key' in done.text
    assert "LTAI" not in done.text
    assert (content.notes, done.notes) == ((), ())


@pytest.mark.parametrize("write", [template.write, s_yaml.write])
def test_a_file_without_tags_says_whose_are_left_out(tmp_path, write):
    """They are set through the API after a deployment of such a file."""
    job = a_job(tmp_path, TAGGED)
    done = write(job)

    assert "team" not in done.text
    assert job.content.notes == (
        "mns queue jobs: the file does not say its tags; left out",
        "fc service shop: the file does not say its tags; left out",
    )


@pytest.mark.parametrize("kind", ["fc3.async", "fc3.provision"])
def test_terraform_leaves_out_settings_that_it_does_not_read_back(kind):
    """The provider asks for no qualifier, so it finds those of LATEST alone."""
    text, notes = written(a_resource(kind, "api", "LATEST"), a_resource(kind, "api", "live"))

    assert text.count("resource ") == 1
    assert notes == (f"api/live: {terraform.TYPES[kind].name} is read back for LATEST alone; left out",)


def test_every_group_has_kinds_and_chooses_them():
    """A group that no kind belongs to would export nothing; only a call of a function belongs to none."""
    assert all(GROUPS.values())
    assert set(PROVIDERS) - frozenset().union(*GROUPS.values()) == {"fc.invocation", "fc3.invocation"}
    assert chosen(["queues"])("mns.queue", ("q",))
    assert not chosen(["queues"])("mns.topic", ("t",))
    assert chosen([])("mns.topic", ("t",))


@pytest.mark.parametrize("kind", PROVIDERS)
def test_kind_is_inside_of_kinds_that_exist(kind):
    """What a row says of others is true of them: their kinds, and as many parts of the identity as they have."""
    provider = PROVIDERS[kind]

    for owner, places in provider.inside:
        assert len(places) == len(PROVIDERS[owner].names)
        assert max(places) < len(provider.names)
    assert {lead.kind for lead in provider.leads} <= set(PROVIDERS)


def test_trigger_needs_the_alias_that_it_is_for_and_no_other_of_its_name():
    """An alias is named by the qualifier of a trigger, not by the trigger's own name."""
    aliases = [a_resource("fc.alias", "shop", name) for name in ("live", "hourly")]
    trigger = a_resource("fc.trigger", "shop", "f", "hourly", qualifier="live")
    there = {each.key: each for each in (*aliases, trigger)}

    assert [each.identity for each in needs(trigger, there)] == [("shop", "live")]


def test_resource_needs_what_it_is_inside_of_and_leads_to():
    """A subscription comes after its topic and the queue it leads to."""
    there = {each.key: each for each in a_world()}
    subscription = next(each for each in there.values() if each.kind == "mns.subscription")

    assert [each.kind for each in needs(subscription, there)] == ["mns.topic", "mns.queue"]


def test_names_stay_apart_when_resources_are_called_alike():
    """A queue and a topic of one name have two names in a file."""
    names = Names(str.lower)

    assert len({names.of(a_resource(kind, "Same")) for kind in ("mns.queue", "mns.topic", "fc3.function")}) == 3


@pytest.mark.parametrize("name", ["../outside.py", "/etc/x", ".git/config", "a.pyc"])
def test_package_that_no_folder_gives_again_stays_an_archive(name, tmp_path):
    """Names that lead outside, or that packing leaves out, are not unpacked."""
    package = a_package(**{name: "x"})

    assert write_package(package, tmp_path, "code") == "code.zip"
    assert [each.name for each in tmp_path.iterdir()] == ["code.zip"]


def test_code_is_the_same_whatever_packed_it():
    """Only names and bytes of files count."""
    one = a_package(a="1", b="2")
    other = a_package(b="2", a="1")

    assert one != other
    assert same_code(one, other)
    assert not same_code(one, a_package(a="1"))


def test_definition_of_one_line_reads_back_as_it_was(tmp_path):
    """One line would be the name of a file: JSON is spread over lines, and a remark before other text is taken off."""
    texts = ("{version: v1, type: flow, steps: []}", '{"version": "v1", "type": "flow", "steps": []}')
    flows = [a_resource("fnf.flow", f"f{number}", Definition=text) for number, text in enumerate(texts)]
    done = s_yaml.write(a_job(tmp_path, flows))

    first, second = read(whole(done.text, Findings()), WORLD, tmp_path, {}, {}).resources

    assert first.properties["Definition"] == texts[0]
    assert json.loads(second.properties["Definition"]) == json.loads(texts[1])


def test_variable_without_a_value_is_a_problem_of_the_file(tmp_path):
    """A deployment does not go on with an empty secret."""
    done = s_yaml.write(a_job(tmp_path))

    with pytest.raises(FileProblems, match="API_DB_PASSWORD is not set"):
        read(whole(done.text, Findings()), WORLD, tmp_path, {}, {})


@pytest.mark.parametrize(
    ("write", "line"),
    [(s_yaml.write, "maxSessionDuration: 7200"), (template.write, "MaxSessionDuration: 7200"),
     (terraform.write, "max_session_duration        = 7200")],
    ids=["s", "ros", "terraform"],
)  # fmt: skip
def test_every_format_says_how_long_a_role_may_be_taken(write, line, tmp_path):
    """What the API shows of a role is what makes it again."""
    trust = '{"Version": "1", "Statement": []}'
    role = a_resource("ram.role", "worker", AssumeRolePolicyDocument=trust, MaxSessionDuration=7200)

    assert line in write(a_job(tmp_path, [role])).text


@pytest.mark.parametrize("write", [s_yaml.write, template.write], ids=["s", "ros"])
def test_flow_without_a_description_has_none_in_another_emulator(write, tmp_path):
    """Its name is not one."""
    done = write(a_job(tmp_path, [a_resource("fnf.flow", "w", Definition="version: v1")]))

    (read_back,) = read(whole(done.text, Findings()), WORLD, tmp_path, {}, {}).resources

    assert read_back.properties["Description"] == ""


def test_flow_without_a_description_has_none_in_terraform(tmp_path):
    """The provider requires the argument; an empty one is none, and the flow's name is not one."""
    done = terraform.write(a_job(tmp_path, [a_resource("fnf.flow", "order", Definition="version: v1", Description="")]))

    assert [line.split(" = ")[1] for line in done.text.splitlines() if line.startswith("  description")] == ['""']


@pytest.mark.parametrize(("running", "differs"), [(None, False), ("acs:ram::1:role/other", True)])
def test_role_that_the_tool_adds_differs_from_another_but_not_from_none(running, differs):
    """A trigger of the functions folder calls without a role; what is exported of it deploys with the default one."""
    trigger = a_resource(
        "fc3.trigger", "f", "news", triggerType="mns_topic", invocationRole="acs:ram::1:role/AliyunFCDefaultRole"
    )
    actual = ActualState({"triggerName": "news", "triggerType": "mns_topic", "invocationRole": running})

    assert any(PROVIDERS["fc3.trigger"].disagreements(trigger, actual)) is differs
