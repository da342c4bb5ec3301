"""What the admission of calls remembers."""

from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.capacity import admission
from emulator.services.fc.capacity.admission import Admission


class Settings:
    """A store without settings that counts how often it is asked."""

    generation = 1

    def __init__(self) -> None:
        self.asked = 0

    def of_function(self, tenant, service, function):
        self.asked += 1
        return []


def test_rules_of_functions_that_come_and_go_do_not_pile_up(monkeypatch):
    """Names are asked for once while they are remembered, and no more of them are remembered than allowed."""
    monkeypatch.setattr(admission, "_RULES_KEPT", 10)
    settings = Settings()
    gate = Admission(settings, None, lambda place: 0)
    tenant = Tenant(AccountId("1"), Region("cn-hangzhou"))

    for number in range(100):
        for _ in range(3):
            gate.check_enabled(tenant, "", f"f{number}")

    assert settings.asked == 100
    assert len(gate._rules) <= 10
