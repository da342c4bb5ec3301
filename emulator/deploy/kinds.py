"""All kinds of resources, each with the provider that answers for it."""

from collections.abc import Mapping

from emulator.deploy.fc_providers import FC_PROVIDERS
from emulator.deploy.provider import Group, ResourceProvider
from emulator.deploy.service_providers import SERVICE_PROVIDERS

PROVIDERS: Mapping[str, ResourceProvider] = {**FC_PROVIDERS, **SERVICE_PROVIDERS}
"""How each kind of resource is found, made, changed and removed, and what else is to be known of it."""

GROUPS: Mapping[str, frozenset[str]] = {
    group.value: frozenset(kind for kind, provider in PROVIDERS.items() if group in provider.groups) for group in Group
}
"""What ``export --only`` takes, and the kinds of resources that are meant."""
