"""The next content of the certificate Secret: created, renewed, its CA replaced with an overlap. Pure.

A CA is replaced long before it expires. The new one is first added to the webhook configurations next to the old one;
only then its certificate is served, and the old one stays trusted until all its certificates have expired. Renewing
only the certificate never changes the configurations.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from shared.tls.ca import (
    SKEW,
    CannotUse,
    KeyPair,
    expiry,
    is_issued_by,
    issue,
    life_of,
    make_ca,
    names_of,
    read_certificates,
    usable,
)

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
AUTHORITY: Final = "ca.crt"
AUTHORITY_KEY: Final = "ca.key"
OLD_AUTHORITY: Final = "ca-old.crt"

Contents = Mapping[str, bytes]
"""The Secret's data."""


class CertificateLifetimes(msgspec.Struct, frozen=True):
    """The names and lifetimes of certificates."""

    names: tuple[str, ...]
    leaf_life: timedelta
    authority_life: timedelta


def next_contents(
    contents: Contents, terms: CertificateLifetimes, now: datetime, *, published: bool
) -> dict[str, bytes]:
    """Return what the Secret should contain; equal to `contents` if nothing is due.

    `published`: its CA has been in the webhook configurations for long enough.
    """
    after = dict(contents)
    if _is_authority_due(after, terms, now):
        _replace_authority(after, terms, now)
        published = False
    if _is_leaf_due(after, terms, now, published=published):
        leaf = issue(_authority(after), terms.names, terms.leaf_life, now)
        after[CERTIFICATE], after[KEY] = leaf.certificate, leaf.key
    if OLD_AUTHORITY in after and _is_old_authority_done(after, terms, now):
        del after[OLD_AUTHORITY]
    return after


def bundle_of(contents: Contents) -> bytes:
    """Return the CAs that a client must trust: the new one, and the old one during an overlap."""
    return b"".join(contents[name] for name in (AUTHORITY, OLD_AUTHORITY) if name in contents)


def leaf_of(contents: Contents) -> KeyPair | None:
    """Return the certificate and key to serve, if both exist."""
    if not contents.get(CERTIFICATE) or not contents.get(KEY):
        return None
    return KeyPair(contents[CERTIFICATE], contents[KEY])


def _authority(contents: Contents) -> KeyPair:
    return KeyPair(contents.get(AUTHORITY, b""), contents.get(AUTHORITY_KEY, b""))


def _is_authority_due(contents: Contents, terms: CertificateLifetimes, now: datetime) -> bool:
    """Due while every certificate of it still has its whole life before it."""
    try:
        usable(_authority(contents))
        return expiry(contents[AUTHORITY]) - now <= terms.leaf_life
    except CannotUse:
        return True


def _replace_authority(contents: dict[str, bytes], terms: CertificateLifetimes, now: datetime) -> None:
    previous = contents.get(AUTHORITY)
    made = make_ca(terms.authority_life, now)
    contents[AUTHORITY], contents[AUTHORITY_KEY] = made.certificate, made.key
    contents.pop(OLD_AUTHORITY, None)
    if previous is not None and _is_valid(previous, now):
        contents[OLD_AUTHORITY] = previous


def _is_leaf_due(contents: Contents, terms: CertificateLifetimes, now: datetime, *, published: bool) -> bool:
    leaf = leaf_of(contents)
    if leaf is None or not _is_good(leaf, contents, terms.names, now):
        return True
    if not is_issued_by(leaf.certificate, contents[AUTHORITY]):
        return published
    return expiry(leaf.certificate) - now < life_of(leaf.certificate) / 3


def _is_good(leaf: KeyPair, contents: Contents, names: Iterable[str], now: datetime) -> bool:
    """Return whether clients accept it now: valid, complete, for these names, of a CA that they trust."""
    try:
        usable(leaf)
        trusted = [contents[name] for name in (AUTHORITY, OLD_AUTHORITY) if name in contents]
        signed = any(is_issued_by(leaf.certificate, authority) for authority in trusted)
        return signed and expiry(leaf.certificate) > now and names_of(leaf.certificate) >= frozenset(names)
    except CannotUse:
        return False


def _is_old_authority_done(contents: Contents, terms: CertificateLifetimes, now: datetime) -> bool:
    """Return whether all its certificates have expired: the first one of the new CA is a certificate's life old."""
    if not _is_valid(contents[OLD_AUTHORITY], now):
        return True
    try:
        if not is_issued_by(contents[CERTIFICATE], contents[AUTHORITY]):
            return False
        authority = read_certificates(contents[AUTHORITY])[0]
    except CannotUse:
        return False
    return now - (authority.not_valid_before_utc + SKEW) > terms.leaf_life * 2


def _is_valid(pem: bytes, now: datetime) -> bool:
    try:
        return expiry(pem) > now
    except CannotUse:
        return False


class TrustedSince:
    """Since when one CA has been trusted everywhere."""

    def __init__(self) -> None:
        self._since: tuple[bytes, datetime] | None = None

    def lasting(self, authority: bytes, now: datetime, *, trusted: bool) -> timedelta | None:
        """For how long `authority` has been trusted; None while it is not."""
        if not trusted:
            self._since = None
            return None
        if self._since is None or self._since[0] != authority:
            self._since = (authority, now)
        return now - self._since[1]
