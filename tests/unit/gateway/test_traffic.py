"""Requests counted by service, operation and class of status."""

from emulator.gateway.traffic import MOST_OPERATIONS, OTHER, Traffic


def counts(traffic):
    family = traffic.figures()[0]
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


def test_answers_are_counted_by_service_operation_and_class_of_status():
    """Classes that did not occur have no line."""
    traffic = Traffic()

    traffic.count("mns", "SendMessage", 201, 0.001)
    traffic.count("mns", "SendMessage", 201, 0.002)
    traffic.count("mns", "SendMessage", 404, 0.003)
    traffic.count("fnf", "StartExecution", 200, 0.004)

    assert counts(traffic) == {
        ("mns", "SendMessage", "2xx"): 2,
        ("mns", "SendMessage", "4xx"): 1,
        ("fnf", "StartExecution", "2xx"): 1,
    }


def test_spans_are_counted_by_operation():
    """Every answer is in the histogram, whatever its status."""
    traffic = Traffic()

    traffic.count("mns", "SendMessage", 201, 0.5)
    traffic.count("mns", "SendMessage", 500, 1.5)

    sums = {sample.suffix: sample.value for sample in traffic.figures()[1].samples if sample.suffix != "_bucket"}
    assert sums == {"_sum": 2.0, "_count": 2}


def test_names_a_client_invents_do_not_grow_the_figures_without_end():
    """Beyond a bound they are counted together, and none is lost."""
    traffic = Traffic()
    asked = MOST_OPERATIONS + 300

    for number in range(asked):
        traffic.count("fnf", f"Invented{number}", 400, 0.001)

    found = counts(traffic)
    assert len(found) == MOST_OPERATIONS + 1
    assert found["fnf", OTHER, "4xx"] == 300
    assert sum(found.values()) == asked
