"""The certificate bundle of redirected processes."""

import ssl
from pathlib import Path

from emulator.redirect.environment import write_bundle


def test_the_bundle_holds_the_own_authority_and_what_was_trusted_before(tmp_path):
    """A variable that pointed to a private authority keeps its effect; nothing is there twice."""
    authority, company = tmp_path / "ca.pem", tmp_path / "company.pem"
    authority.write_text("OWN\n")
    company.write_text("COMPANY\n")

    environ = {"SSL_CERT_FILE": str(company), "REQUESTS_CA_BUNDLE": str(company), "CURL_CA_BUNDLE": "/no/such/file"}
    write_bundle(authority, tmp_path / "bundle.pem", environ)

    content = (tmp_path / "bundle.pem").read_text()
    assert content.startswith("OWN\n")
    assert content.count("COMPANY") == 1
    system = ssl.get_default_verify_paths().cafile
    assert system is None or Path(system).read_text() in content


def test_a_certificate_that_several_files_have_is_in_the_bundle_once(tmp_path):
    """With other words before it, too; what is no certificate stays."""
    one, other, last = (f"-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n" for name in "abc")
    (tmp_path / "ca.pem").write_text(one)
    (tmp_path / "first.pem").write_text(f"# other\n{other}# one\n{one}the end")
    (tmp_path / "second.pem").write_text(f"# again\n{other}# last\n{last}")

    environ = {name: str(tmp_path / f"{file}.pem") for name, file in
               (("SSL_CERT_FILE", "first"), ("REQUESTS_CA_BUNDLE", "second"))}  # fmt: skip
    write_bundle(tmp_path / "ca.pem", tmp_path / "bundle.pem", environ)

    content = (tmp_path / "bundle.pem").read_text()
    assert content.startswith(f"{one}\n# other\n{other}the end\n# last\n{last}\n")
    assert [content.count(each) for each in (one, other, last)] == [1, 1, 1]
