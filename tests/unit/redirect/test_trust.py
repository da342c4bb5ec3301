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
