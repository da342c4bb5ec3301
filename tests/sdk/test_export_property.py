"""Whatever is exported deploys into an empty emulator and is the same there, or `export` names what it leaves out."""

import os
import re
import tempfile
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.cli.rehearsal import Stage
from emulator.deploy.export import s_yaml, template, terraform
from emulator.deploy.export.resources import Job, portable
from emulator.deploy.inventory import inventory
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Record, Target
from emulator.deploy.places import Findings, whole
from emulator.deploy.planner import apply, plan, read
from emulator.deploy.provider import TAGS
from emulator.deploy.rehearsal import rehearse
from emulator.keyfile import InstallationKeys
from tests.sdk.any_state import make, shown, states

pytestmark = [pytest.mark.sdk, pytest.mark.timeout(900)]

KEYS = InstallationKeys(access_key_id="LYUNexported", access_key_secret="s" * 40, account_id="1234567890123456",
                        region="cn-hangzhou", admin_token="")  # fmt: skip
WRITERS = {"s.yaml": s_yaml.write, "template.yml": template.write}
TRIES = int(os.environ.get("LOCALYUN_EXPORT_EXAMPLES", "20"))
"""How many states are tried for each format."""

tried = settings(max_examples=TRIES, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def both():
    """The emulator that is exported and deployed to, and one where the deployment is planned; neither acts."""
    with Stage(KEYS) as real, Stage(KEYS) as stage:
        yield real, stage


def exported(api, write, folder):
    """Write what is there; returns what was written, the values of its variables and all notes."""
    content = portable(inventory(api), KEYS.account_id, KEYS.region)
    done = write(Job(content, folder, "app", KEYS.region))
    return done, {each.name: each.value for each in content.variables}, [*content.notes, *done.notes]


def deployed(real, stage, text, values, folder, name):
    """Plan and deploy a text as a file of its folder."""
    ros = "ROSTemplateFormatVersion" in text
    target = Target(account=KEYS.account_id, region=KEYS.region, endpoint=real.client.endpoint.http, name=name)
    blueprint = read(whole(text, Findings()), target, folder, values if ros else {}, {} if ros else values)
    rehearse(real.api, stage.api, blueprint, Record(name=name))
    apply(real.api, PROVIDERS, plan(real.api, PROVIDERS, blueprint, Record(name=name)), lambda step: None)


BESIDE = frozenset(
    {"tags", "Tags", "invocationRestriction", "EncryptionEnabled", "EnableSSE", "SseType", "SseAlgorithm", "KmsKeyId"}
)


def differences(before, after, notes):
    """Return what differs and no note names; a note on what a file does not say covers that alone."""
    found = {}
    for key in sorted({*before, *after}):
        mine, theirs = before.get(key), after.get(key)
        name = f"{key[0]} {key[1].removesuffix('/newest').strip('#')}: "
        said = [note for note in notes if f"{name}" in note]
        if mine and theirs and said and all("the file does not say its" in note for note in said):
            mine, theirs = ({key: each[key] for key in each if key not in BESIDE} for each in (mine, theirs))
        elif said:
            continue
        if mine != theirs:
            found[key] = mine, theirs
    return found


NUMBERS = count()


@pytest.mark.parametrize("kind", WRITERS)
def test_what_is_exported_is_the_same_elsewhere(both, kind):
    """Field by field over the API, whatever there is; what is not, export has named. A plan accepts all of it."""
    real, stage = both

    @tried
    @given(st.data())
    def holds(data):
        for each in both:
            each.clear()
        make(real.api, data.draw(states(KEYS.account_id, KEYS.region)))
        before = shown(real.api)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            done, values, notes = exported(real.api, WRITERS[kind], folder)
            real.clear()
            if before:
                deployed(real, stage, done.text, values, folder, f"app{next(NUMBERS)}")
        assert not differences(before, shown(real.api), notes), (done.text, notes)

    holds()


WITH_TAGS = re.compile(r"^  tags +=", re.MULTILINE)
RESOURCE = re.compile(r'^resource "(\w+)" "(\w+)" \{$', re.MULTILINE)


def test_a_configuration_has_every_resource_once_or_a_note(both):
    """Terraform's own language is not read here: what is counted is what is declared and what is named as left out."""
    real, _ = both

    @tried
    @given(st.data())
    def holds(data):
        real.clear()
        make(real.api, data.draw(states(KEYS.account_id, KEYS.region)))
        with tempfile.TemporaryDirectory() as place:
            content = portable(inventory(real.api), KEYS.account_id, KEYS.region, terraform.TAGGED)
            done = terraform.write(Job(content, Path(place), "app", KEYS.region))
            notes = [*content.notes, *done.notes]
        declared = RESOURCE.findall(done.text)
        implied = {"fc.version"}
        assert len(set(declared)) == len(declared) == len(done.resources)
        assert len(WITH_TAGS.findall(done.text)) == sum(TAGS in each.properties for each in done.resources)
        for each in content.resources:
            is_written = any(each.key == other.key for other in done.resources)
            assert is_written or each.kind in implied or any(each.physical in note for note in notes), each

    holds()
