"""BookSim's phases of a run: the seed and the table `[measure]`."""

from phit.importing.booksim.configuration import Configuration, check_range

CONVERGED = 3
"""Consecutive periods whose means must hardly change: the minimum number that BookSim measures."""


def measure(given: Configuration) -> None:
    """Puts the seed, the measurement and the number of runs into the scenario."""
    if given.text("seed") == "time":
        given.drop("seed", "the scenario has a seed of its own")
    else:
        given.findings.put("seed", check_range(given, "seed", 0, 2**31 - 1), given["seed"])
    kind = str(given["sim_type"].value)
    counts = {"latency": "generated", "throughput": "delivered"}
    if kind not in counts:
        given.refuse("sim_type", f"cannot be expressed; expected one of {', '.join(counts)}")
        return
    period = check_range(given, "sample_period", 1, 1 << 24)
    before, most = check_range(given, "warmup_periods", 0, 1 << 16), check_range(given, "max_samples", 1, 1 << 16)
    periods = max(most - before, 1)
    if max(given.number("stopping_thres"), given.number("acc_stopping_thres")) > 0:
        periods = min(periods, CONVERGED)
    warmup = before * period if before else "auto"
    given.findings.put("measure.warmup", warmup, given["warmup_periods"], given["sample_period"])
    given.findings.put("measure.cycles", periods * period, given["sample_period"], given["max_samples"])
    given.findings.put("measure.count", counts[kind], given["sim_type"])
    if (runs := check_range(given, "sim_count", 1, 1 << 16)) > 1:
        given.findings.put("sweep.seeds", runs, given["sim_count"])
