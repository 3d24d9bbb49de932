"""Signatures as cosign makes and verifies them, by a key that is given: ECDSA P-256 over SHA-256.

`cosign sign-blob` writes the signature of a file in Base64; `cosign attest-blob` writes a statement in a DSSE envelope.
Both are checked with the public key alone, by cosign or by openssl.
"""

import base64
import json
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"


class KeyProblem(Exception):
    """The key cannot sign; the message says why and what to give instead."""


def load_key(path: Path, password: str | None) -> ec.EllipticCurvePrivateKey:
    """Read a private key in PEM. Raises KeyProblem."""
    try:
        pem = path.read_bytes()
    except OSError as error:
        raise KeyProblem(f"{path} cannot be read: {error.strerror}") from None
    if b"SIGSTORE" in pem:
        raise KeyProblem(
            f"{path} is encrypted by cosign; make one with `openssl ecparam -name prime256v1 -genkey -noout`, and give "
            "cosign the same by `cosign import-key-pair`"
        )
    try:
        key = load_pem_private_key(pem, password.encode() if password else None)
    except (ValueError, TypeError) as error:
        raise KeyProblem(f"{path} is no private key in PEM, or KEY_PASSWORD does not open it: {error}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise KeyProblem(f"{path} is no ECDSA key on P-256, the only kind that cosign makes")
    return key


def public_key(key: ec.EllipticCurvePrivateKey) -> str:
    """Return its public half, as cosign.pub has it."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def sign(key: ec.EllipticCurvePrivateKey, content: bytes) -> str:
    """Return the signature in Base64."""
    return base64.b64encode(key.sign(content, ec.ECDSA(SHA256()))).decode()


def envelope(key: ec.EllipticCurvePrivateKey, statement: dict[str, Any]) -> dict[str, Any]:
    """Return the statement in a signed DSSE envelope."""
    payload = json.dumps(statement, sort_keys=True).encode()
    signature = sign(key, encoded(payload))
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": "", "sig": signature}],
    }


def encoded(payload: bytes) -> bytes:
    """Return what a DSSE signature covers: the type and the content with their lengths."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)
