"""Makes certificates. Run as a short-lived child of the server, which never imports ``cryptography`` itself.

``python -m emulator.http.minting [--permit DOMAIN]... FOLDER EARLIER_MS LATER_MS [NAME]...`` sees to it that FOLDER
has a certificate authority that permits the domains, and a leaf for each name, valid at both times and for a while
after the later one. Every file that is made begins with a line of facts, so that the server can see from the text alone
whether it is still good; programs that read PEM skip that line.

The authority is bound by its name constraints to the emulated clouds' suffixes, to ``localhost`` and to loopback
addresses: whoever gets hold of its key cannot use it to pose as anything else. Source: RFC 5280 section 4.2.1.10.
"""

import datetime
import ipaddress
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from emulator.http.certificate_files import (
    AUTHORITY_DAYS,
    COMMON,
    LEAF_DAYS,
    LEAVES_KEPT,
    PERMITTED_DOMAINS,
    Facts,
    authority_facts,
    authority_path,
    is_good_authority,
    key_path,
    leaf_names,
    leaf_path,
)
from emulator.kernel.clock import DAY, Millis
from emulator.kernel.system import write_private

_LOOPBACK: Final = ("127.0.0.1", "::1")
_LOOPBACK_NETWORKS: Final = ("127.0.0.0/8", "::1/128")


def main(arguments: list[str]) -> None:
    """Make what is missing.

    Raises: OSError.
    """
    import argparse  # not for those who take only a function from here

    parser = argparse.ArgumentParser(prog="python -m emulator.http.minting")
    parser.add_argument("folder", type=Path)
    parser.add_argument("earlier", type=int)
    parser.add_argument("later", type=int)
    parser.add_argument("--permit", action="append", default=[])
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    times = Millis(options.earlier), Millis(options.later)
    key, certificate = _authority(options.folder, times, options.permit)
    for name in options.names:
        _mint_leaf(options.folder, name, times, key, certificate)
    _prune(options.folder)


_Times = tuple[Millis, Millis]


def _authority(folder: Path, times: _Times, permit: list[str]) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """Load the authority, made or renewed if need be.

    A renewal keeps the key and the subject, so the leaves stay valid, as do clients that still hold the older file.
    """
    facts = authority_facts(folder)
    domains = sorted({*PERMITTED_DOMAINS, *permit, *(facts.names if facts else ())})
    key = _load_key(key_path(folder))
    if key is not None and facts is not None and is_good_authority(facts, times[1], permit):
        return key, x509.load_pem_x509_certificate(authority_path(folder).read_bytes())
    if key is None:
        key = ec.generate_private_key(ec.SECP256R1())
        write_private(key_path(folder), _key_pem(key))
    certificate = _self_signed(key, domains, times)
    facts = Facts(not_after=ends_at(certificate), key_id=_key_id(key), names=tuple(domains))
    write_private(authority_path(folder), facts.line() + _pem(certificate))
    return key, certificate


def _self_signed(key: ec.EllipticCurvePrivateKey, domains: list[str], times: _Times) -> x509.Certificate:
    permitted: list[x509.GeneralName] = [x509.DNSName(domain) for domain in domains]
    permitted += [x509.IPAddress(ipaddress.ip_network(network)) for network in _LOOPBACK_NETWORKS]
    subject = _subject(f"localyun local CA {_key_id(key)[:8]}")
    return (
        _builder(subject, subject, key.public_key(), times[0], _datetime(times[1] + AUTHORITY_DAYS * DAY))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints(permitted_subtrees=permitted, excluded_subtrees=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _mint_leaf(
    folder: Path, name: str, times: _Times, signer: ec.EllipticCurvePrivateKey, issuer: x509.Certificate
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    end = min(_datetime(times[1] + LEAF_DAYS * DAY), _datetime(ends_at(issuer)))
    certificate = (
        _builder(_subject(name), issuer.subject, key.public_key(), times[0], end)
        .add_extension(x509.SubjectAlternativeName(_alternatives(name)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    facts = Facts(not_after=ends_at(certificate), key_id=_key_id(signer), names=leaf_names(name))
    path = leaf_path(folder, name)
    path.parent.mkdir(exist_ok=True, mode=0o700)
    write_private(path, facts.line() + _key_pem(key) + _pem(certificate), lasting=False)


def _alternatives(leaf: str) -> list[x509.GeneralName]:
    addresses = _LOOPBACK if leaf == COMMON else ()
    return [
        *(x509.DNSName(name) for name in leaf_names(leaf)),
        *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
    ]


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, begin: Millis, end: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_datetime(begin - DAY))  # clients in containers and virtual machines may be behind
        .not_valid_after(end)
    )


def _subject(name: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "localyun")]
    if len(name) <= 64:  # the longest common name X.520 allows; verifiers go by the alternative names
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    return x509.Name(attributes)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _datetime(millis: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(millis // 1000, datetime.UTC)


def ends_at(certificate: x509.Certificate) -> Millis:
    """Return when a certificate ends."""
    with suppress(AttributeError):
        return Millis(int(certificate.not_valid_after_utc.timestamp()) * 1000)
    # Before `cryptography` 42, as Debian 12 has it.
    return Millis(int(certificate.not_valid_after.replace(tzinfo=datetime.UTC).timestamp()) * 1000)


def _key_id(key: ec.EllipticCurvePrivateKey) -> str:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key()).digest.hex()


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _load_key(path: Path) -> ec.EllipticCurvePrivateKey | None:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (FileNotFoundError, ValueError):  # a broken key is replaced, as is all that it signed
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def _prune(folder: Path) -> None:
    """Remove the oldest leaves beyond those kept; they are made again when asked for."""
    leaves = sorted(leaf_path(folder, COMMON).parent.glob("*.pem"), key=lambda path: path.stat().st_mtime)
    for path in leaves[:-LEAVES_KEPT]:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
