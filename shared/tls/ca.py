"""Creates the CA and the server certificate, and checks given ones. Pure.

P-256, created in milliseconds, strict enough for OpenSSL's -x509_strict. Validity begins an hour earlier, because
clocks differ.
"""

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from shared.api.durations import earlier, later

SKEW: Final = timedelta(hours=1)
_USAGES: Final = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


class KeyPair(msgspec.Struct, frozen=True):
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class CannotUse(ValueError):
    """A certificate or key that cannot be used; the message says why."""


def make_ca(life: timedelta, now: datetime) -> KeyPair:
    """Return a new CA with a unique name, so that old and new differ."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(f"quotree-ca-{now:%Y%m%d%H%M%S}")
    builder = (
        _builder(name, name, key.public_key(), now, life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage("key_cert_sign", "crl_sign"), critical=True)
    )
    return _sealed(builder.sign(key, hashes.SHA256()), key)


def issue(authority: KeyPair, names: Iterable[str], life: timedelta, now: datetime) -> KeyPair:
    """A server certificate for these DNS names and IP addresses. Raises CannotUse when the CA is unusable."""
    issuer, signer = _load(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = (
        _builder(issuer.subject, _name("quotree"), key.public_key(), now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage("digital_signature"), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_subject(name) for name in names]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
    )
    return _sealed(builder.sign(signer, hashes.SHA256()), key)


def _builder(
    issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(earlier(now, SKEW))
        .not_valid_after(later(now, life))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _subject(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*wanted: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{name: name in wanted for name in _USAGES})


def _sealed(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _load(pair: KeyPair) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    certificate = read_certificates(pair.certificate)[0]
    try:
        key = serialization.load_pem_private_key(pair.key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CannotUse(f"the private key cannot be read: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise CannotUse("the private key of our own authority is not an elliptic curve's")
    if key.public_key() != certificate.public_key():
        raise CannotUse("the private key does not belong to the certificate")
    return certificate, key


def usable(pair: KeyPair) -> None:
    """Check that both can be read and belong together. Raises CannotUse."""
    _load(pair)


def read_certificates(pem: bytes) -> list[x509.Certificate]:
    """Return the certificates of a PEM file, at least one. Raises CannotUse."""
    try:
        found = x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise CannotUse(f"the certificate cannot be read: {error}") from error
    if not found:
        raise CannotUse("there is no certificate")
    return found


def expiry(pem: bytes) -> datetime:
    """Until when the first certificate is valid, in UTC. Raises CannotUse."""
    return read_certificates(pem)[0].not_valid_after_utc


def valid_from(pem: bytes) -> datetime:
    """Return the start of validity of the first certificate, in UTC. Raises CannotUse."""
    return read_certificates(pem)[0].not_valid_before_utc


def life_of(pem: bytes) -> timedelta:
    """Return how long it was issued for, without the extra hour for slow clocks. Raises CannotUse."""
    certificate = read_certificates(pem)[0]
    return certificate.not_valid_after_utc - certificate.not_valid_before_utc - SKEW


def is_issued_by(pem: bytes, authority: bytes) -> bool:
    """Return whether the first certificate is signed by that CA. Raises CannotUse."""
    try:
        read_certificates(pem)[0].verify_directly_issued_by(read_certificates(authority)[0])
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def names_of(pem: bytes) -> frozenset[str]:
    """The DNS names and IP addresses of the certificate. Raises CannotUse."""
    try:
        names = read_certificates(pem)[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    dns = names.get_values_for_type(x509.DNSName)
    return frozenset([*dns, *(str(address) for address in names.get_values_for_type(x509.IPAddress))])
