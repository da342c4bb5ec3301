"""What every layer stands on: time, timers, ids, errors, limits, paging. No I/O, nothing of any service."""
