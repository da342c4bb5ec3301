"""Signs pushes. Run as a child of the server, which never imports ``cryptography`` itself.

``python -m emulator.auth.push_child FOLDER EARLIER_MS LATER_MS`` sees to it that FOLDER has ``key.pem`` and
``certificate.pem``, valid at both times, writes the certificate as its first frame, and then answers every frame on its
standard input with one that has the signature. A frame is four bytes of length and that many bytes. It ends with its
input.
"""

import datetime
import signal
import sys
from pathlib import Path
from typing import BinaryIO, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from emulator.http.minting import ends_at
from emulator.kernel.clock import DAY
from emulator.kernel.system import write_private

KEY_BITS: Final = 2048
CERTIFICATE_DAYS: Final = 3650
RENEWAL_DAYS: Final = 30
_FRAME_HEAD: Final = 4


def main(folder: Path, times: tuple[int, int], source: BinaryIO, sink: BinaryIO) -> None:
    """Sign until the input ends.

    Raises: OSError.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = _key(folder / "key.pem")
    _write_frame(sink, _certificate(folder / "certificate.pem", key, times))
    while len(head := source.read(_FRAME_HEAD)) == _FRAME_HEAD:
        text = source.read(int.from_bytes(head, "big"))
        _write_frame(sink, key.sign(text, padding.PKCS1v15(), hashes.SHA1()))  # noqa: S303 - what receivers verify


def _key(path: Path) -> rsa.RSAPrivateKey:
    """Load the key, or make one; a broken file is replaced."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (FileNotFoundError, ValueError):
        key = None
    if isinstance(key, rsa.RSAPrivateKey):
        return key
    made = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    form = serialization.PrivateFormat.PKCS8
    write_private(path, made.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return made


def _certificate(path: Path, key: rsa.RSAPrivateKey, times: tuple[int, int]) -> bytes:
    """Return the certificate of *key*, made or renewed if need be: version 3, nothing before its first line."""
    earlier, later = times
    try:
        content = path.read_bytes()
        certificate = x509.load_pem_x509_certificate(content)
        is_good = certificate.public_key() == key.public_key() and ends_at(certificate) > later + RENEWAL_DAYS * DAY
    except (FileNotFoundError, ValueError):
        content, is_good = b"", False
    if is_good:
        return content
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localyun notifications")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_datetime(earlier - DAY))  # receivers in containers and virtual machines may be behind
        .not_valid_after(_datetime(later + CERTIFICATE_DAYS * DAY))
        .sign(key, hashes.SHA256())
    )
    content = made.public_bytes(serialization.Encoding.PEM)
    write_private(path, content)
    return content


def _datetime(millis: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(millis // 1000, datetime.UTC)


def _write_frame(sink: BinaryIO, content: bytes) -> None:
    sink.write(len(content).to_bytes(_FRAME_HEAD, "big") + content)
    sink.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which closes the input when it is done
    main(Path(sys.argv[1]), (int(sys.argv[2]), int(sys.argv[3])), sys.stdin.buffer, sys.stdout.buffer)
