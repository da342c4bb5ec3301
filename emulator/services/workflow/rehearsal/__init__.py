"""Executions driven with given results: steps run alone, cases with coverage, recorded histories replayed."""
