"""The certificate Secret is made, renewed and fixed; an authority is replaced with an overlap."""

import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shared.tls.ca import CannotUse, KeyPair, expiry, is_issued_by, issue, make_ca, names_of
from shared.tls.rotation import CertificateLifetimes, bundle_of, leaf_of, next_contents

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
NAMES = ("quotree-webhook.quotree-system.svc", "localhost", "127.0.0.1")
TERMS = CertificateLifetimes(NAMES, leaf_life=90 * DAY, authority_life=3650 * DAY)


def first() -> dict[str, bytes]:
    return next_contents({}, TERMS, NOW, published=True)


def test_empty_secret_gets_a_ca_and_a_certificate_for_all_names() -> None:
    made = first()
    assert sorted(made) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    assert is_issued_by(made["tls.crt"], made["ca.crt"])
    assert names_of(made["tls.crt"]) == frozenset(NAMES)
    assert (expiry(made["tls.crt"]), expiry(made["ca.crt"])) == (NOW + 90 * DAY, NOW + 3650 * DAY)
    assert bundle_of(made) == made["ca.crt"]


def test_valid_secret_is_unchanged() -> None:
    made = first()
    assert next_contents(made, TERMS, NOW + 59 * DAY, published=True) == made
    assert next_contents(made, TERMS, NOW + 59 * DAY, published=False) == made


def test_certificate_is_renewed_in_its_last_third_without_changing_the_ca() -> None:
    made = first()
    later = next_contents(made, TERMS, NOW + 61 * DAY, published=True)
    assert later["tls.crt"] != made["tls.crt"]
    assert (later["ca.crt"], bundle_of(later)) == (made["ca.crt"], bundle_of(made))
    assert expiry(later["tls.crt"]) == NOW + 151 * DAY


def test_short_certificate_is_valid_until_its_last_third() -> None:
    terms = CertificateLifetimes(NAMES, leaf_life=timedelta(seconds=90), authority_life=DAY)
    made = next_contents({}, terms, NOW, published=True)
    assert next_contents(made, terms, NOW + timedelta(seconds=59), published=True) == made
    assert next_contents(made, terms, NOW + timedelta(seconds=61), published=True) != made


def test_certificate_for_other_names_is_replaced() -> None:
    terms = CertificateLifetimes((*NAMES, "webhook.example.com"), TERMS.leaf_life, TERMS.authority_life)
    assert names_of(next_contents(first(), terms, NOW, published=True)["tls.crt"]) == frozenset(terms.names)


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
@pytest.mark.parametrize("broken", [b"", b"rubbish", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_incomplete_certificate_is_issued_again_by_the_same_ca(name: str, broken: bytes) -> None:
    made = first()
    fixed = next_contents({**made, name: broken}, TERMS, NOW, published=True)
    assert fixed["ca.crt"] == made["ca.crt"]
    assert is_issued_by(fixed["tls.crt"], made["ca.crt"])


def test_key_of_another_certificate_is_replaced() -> None:
    made, other = first(), first()
    fixed = next_contents({**made, "tls.key": other["tls.key"]}, TERMS, NOW, published=True)
    assert fixed["tls.key"] not in (made["tls.key"], other["tls.key"])


def test_lost_ca_key_gives_a_new_ca_next_to_the_old_one() -> None:
    made = first()
    after = next_contents({**made, "ca.key": b""}, TERMS, NOW, published=True)
    assert (after["ca-old.crt"], after["tls.crt"]) == (made["ca.crt"], made["tls.crt"])
    assert after["ca.crt"] != made["ca.crt"]
    assert bundle_of(after) == after["ca.crt"] + made["ca.crt"]


def test_ca_is_replaced_in_three_steps() -> None:
    made = first()
    due = NOW + 3560 * DAY
    made |= {k: v for k, v in next_contents(made, TERMS, due - 10 * DAY, published=True).items() if k.startswith("tls")}
    overlap = next_contents(made, TERMS, due, published=True)
    assert overlap["ca-old.crt"] == made["ca.crt"]
    assert overlap["tls.crt"] == made["tls.crt"]
    assert next_contents(overlap, TERMS, due, published=False) == overlap
    switched = next_contents(overlap, TERMS, due + DAY, published=True)
    assert is_issued_by(switched["tls.crt"], overlap["ca.crt"])
    assert switched["ca-old.crt"] == made["ca.crt"]
    assert next_contents(switched, TERMS, due + 58 * DAY, published=True) == switched
    done = next_contents(switched, TERMS, due + 181 * DAY, published=True)
    assert "ca-old.crt" not in done


def test_expired_certificate_does_not_wait_for_the_overlap() -> None:
    made = first()
    long_after = NOW + 4000 * DAY
    after = next_contents(made, TERMS, long_after, published=False)
    assert is_issued_by(after["tls.crt"], after["ca.crt"])
    assert expiry(after["tls.crt"]) > long_after
    assert "ca-old.crt" not in after


def test_secret_without_key_gives_no_certificate() -> None:
    assert leaf_of({"tls.crt": b"x"}) is None
    assert leaf_of({"tls.crt": b"x", "tls.key": b"y"}) == KeyPair(b"x", b"y")


def test_unusable_ca_cannot_issue() -> None:
    with pytest.raises(CannotUse, match="the private key does not belong to the certificate"):
        issue(KeyPair(make_ca(DAY, NOW).certificate, make_ca(DAY, NOW).key), NAMES, DAY, NOW)


def test_openssl_accepts_the_chain_under_its_strictest_rules(tmp_path: Path) -> None:
    made = next_contents({}, TERMS, datetime.now(UTC), published=True)
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    command = ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_ip", "127.0.0.1"]
    done = subprocess.run(
        [*command, "-CAfile", "ca.crt", "tls.crt"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "tls.crt: OK\n"), done.stderr


def test_context_with_strict_flags_trusts_the_bundle() -> None:
    made = first()
    context = ssl.create_default_context(cadata=bundle_of({**made, "ca-old.crt": first()["ca.crt"]}).decode())
    assert len(context.get_ca_certs()) == 2
