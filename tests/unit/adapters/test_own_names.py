"""Which names a topic's push goes straight home for."""

from emulator.adapters.messages import OwnNames
from emulator.gateway.hosts import Bundle, FunctionNames, HostPolicy

HOME = ("127.0.0.1", 8868)


class Authority:
    """Stands for the certificate authority: signs for everything."""

    def register(self, host: str) -> bool:
        return False

    def unregister(self, host: str) -> None:
        pass


def test_a_custom_domain_leads_home_as_long_as_it_is_registered(tmp_path):
    """Names of functions come and go at run time; names of the cloud are always the emulator's."""
    names = FunctionNames(HostPolicy(()), Authority(), Bundle(Authority(), tmp_path / "bundle.pem"))
    own = OwnNames(names.emulates, "http://127.0.0.1:8868")

    before = own.find("www.shop.example")
    names.allow("www.shop.example", https=False)
    during = own.find("www.shop.example")
    names.forget("www.shop.example")
    after = own.find("www.shop.example")

    assert (before, during, after) == (None, HOME, None)
    assert own.find("123456789012.cn-hangzhou.fc.aliyuncs.com") == HOME
    assert own.find("localhost") is None
    assert own.find("127.0.0.1") is None
