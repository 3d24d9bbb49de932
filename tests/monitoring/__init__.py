"""Rules, dashboard and metrics with a real Prometheus: `make monitoring`."""
