"""Families of samples in the exposition format, read back by the parser of the Prometheus client."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from emulator.kernel.metrics import Family, Histogram, Sample, counter, gauge, labelled, render


def parsed(*families):
    return {family.name: family for family in text_string_to_metric_families(render(families).decode())}


def test_numbers_come_back_as_they_were():
    """Whole numbers and fractions, with the kind of their family."""
    found = parsed(gauge("a_bytes", "Size.", 12), counter("b_total", "Count.", 3), gauge("c_seconds", "Span.", 0.25))

    assert found["a_bytes"].type == "gauge"
    assert found["b"].type == "counter"
    assert [family.samples[0].value for family in found.values()] == [12, 3, 0.25]


@pytest.mark.parametrize("text", ['quo"te', "back\\slash", "line\nfeed", "naïve 队列", ""], ids=repr)
def test_labels_of_any_text_come_back_as_they_were(text):
    """Names of queues are not all letters and digits."""
    found = parsed(Family("a", "gauge", "Help \\ and\nmore.", [Sample({"queue": text, "state": "x"}, 1)]))

    assert found["a"].samples[0].labels == {"queue": text, "state": "x"}


def test_a_histogram_counts_below_each_bound_and_in_all():
    """A value on a bound belongs to it; one above all is in the last bucket only."""
    histogram = Histogram((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        histogram.observe(value)

    found = parsed(Family("a_seconds", "histogram", "Spans.", histogram.samples({"service": "x"})))["a_seconds"]

    assert found.type == "histogram"
    buckets = {sample.labels["le"]: sample.value for sample in found.samples if sample.name.endswith("_bucket")}
    assert buckets == {"0.1": 2, "1": 3, "+Inf": 4}
    totals = {sample.name: sample.value for sample in found.samples if not sample.name.endswith("_bucket")}
    assert totals == {"a_seconds_sum": pytest.approx(7.65), "a_seconds_count": 4}


def test_numbers_that_differ_in_a_label_are_one_family():
    """Each under its own label."""
    found = parsed(labelled("a", "gauge", "Help.", "state", {"busy": 1, "idle": 2}))

    assert {sample.labels["state"]: sample.value for sample in found["a"].samples} == {"busy": 1, "idle": 2}
