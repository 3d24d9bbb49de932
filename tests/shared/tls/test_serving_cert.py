"""The certificate in use, and whom the server trusts."""

from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry

from shared.tls.ca import issue, make_ca
from shared.tls.serving_cert import CertificateHolder
from webhook.metrics import WebhookMetrics

DAY = timedelta(days=1)


def test_readable_ca_of_callers_is_trusted_after_one_that_cannot_be_read() -> None:
    now = datetime.now(UTC)
    ca, holder = make_ca(DAY, now), CertificateHolder(WebhookMetrics(CollectorRegistry()))
    pair = issue(ca, ("localhost",), DAY, now)
    assert holder.show(pair)
    holder.trust("no certificate")
    assert holder.shown == pair
    holder.trust(ca.certificate.decode())
    assert holder.listener().get_ca_certs()
    assert holder._context is not None
    assert holder._context.get_ca_certs()
