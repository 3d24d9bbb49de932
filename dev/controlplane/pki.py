"""Keys and certificates of one control plane: its authority, its server, its clients, its service-account tokens."""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=30)
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
SERVER_ADDRESSES = ("127.0.0.1", "10.0.0.1")


class Authority:
    """A certificate authority whose files lie in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("quotree-control-plane-ca")
        self.certificate = folder / "ca.crt"
        certificate = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, file_name: str) -> tuple[Path, Path]:
        """Certificate and key files of a server on 127.0.0.1."""
        addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in SERVER_ADDRESSES]
        names = [x509.DNSName(name) for name in SERVER_NAMES]
        alternatives = x509.SubjectAlternativeName([*names, *addresses])
        return self._issue(file_name, _name(file_name), ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client(self, file_name: str, user: str, groups: Sequence[str] = ()) -> tuple[Path, Path]:
        """Certificate and key files by which the API server knows `user` as a member of `groups`."""
        return self._issue(file_name, _name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _issue(
        self,
        file_name: str,
        subject: x509.Name,
        purpose: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None,
    ) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject, self._name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        path = self.folder / f"{file_name}.crt"
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return path, write_key(key, self.folder / f"{file_name}.key")


def token_keys(folder: Path) -> tuple[Path, Path]:
    """Return the private and public key files that service-account tokens are signed and checked with."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = folder / "service-account.pub"
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return write_key(key, folder / "service-account.key"), public


def write_key(key: ec.EllipticCurvePrivateKey, path: Path) -> Path:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


def _name(common: str, organizations: Sequence[str] = ()) -> x509.Name:
    return x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
