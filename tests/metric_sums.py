"""Reads numbers from what a process serves at /metrics."""

from prometheus_client.parser import text_string_to_metric_families


def sum_of(text: str, name: str, **labels: str) -> float:
    """Return the sum of the metric's samples that have these labels."""
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return sum(each.value for each in samples if each.name == name and labels.items() <= each.labels.items())
