"""The kinds of resources, each with its provider."""

from collections.abc import Mapping

from emulator.deploy.fc_providers import FC_PROVIDERS
from emulator.deploy.provider import Group, ResourceProvider
from emulator.deploy.service_providers import SERVICE_PROVIDERS

PROVIDERS: Mapping[str, ResourceProvider] = {**FC_PROVIDERS, **SERVICE_PROVIDERS}
"""The provider of each kind of resource."""

GROUPS: Mapping[str, frozenset[str]] = {
    group.value: frozenset(kind for kind, provider in PROVIDERS.items() if group in provider.groups) for group in Group
}
"""The words that ``export --only`` takes, with the kinds of resources they stand for."""
