"""Why claims differ at the paper's scale, as far as it was found out."""

REMARKS = {
    "C4": (
        "Base and ECtN accept 5.3 % less than OLM (5 % are allowed) and Hybrid 1.5 % less. FOGSim's own runs at h = 4 "
        "have the same order (see the page on agreement, UN at 0.9). OLM's credits misroute least at saturation, when "
        "no global link has capacity to spare; the counters send more packets over a second one."
    ),
    "C10": "ECtN is not behind OLM at each of these loads, but 1.0 % ahead at one and up to 3.3 % behind at others.",
    "C12": (
        "Latencies are within 10 % of their final value from the first bin on, whatever the mechanism, so that this "
        "rule cannot tell them apart. In the narrower band of the note they come in the paper's order. Phit's curves "
        "of all five mechanisms agree with FOGSim's at h = 4 in every window of 20 cycles (see the page on agreement)."
    ),
    "C14": (
        "Base and ECtN are at 0.0 % and 100 %. Hybrid's 3.4 % under UN are packets that its credits misroute, "
        "not its counters; OLM's share is higher."
    ),
    "C15": (
        "OLM needs fifty times as long (to within 2 %: 845 cycles, the paper says about 1,000), the counters no longer "
        "than before. Only PB fails: with the coefficient that brings it close to VAL its flags come in time."
    ),
    "C17": (
        "The latency under ADV+1 rises with the threshold as it should. The throughput under UN rises up to a "
        "threshold of 6 to 8, and falls from there towards MIN's, because counters that hardly ever trigger leave "
        "packets on their minimal routes. The mean counter is 1.71, not 2.74: the estimate takes every channel of "
        "every input port to have a head, but under UN local channel 2 and global channel 1 hold misrouted packets "
        "alone."
    ),
}
"""By claim, with numbers of the run that the documentation shows."""
