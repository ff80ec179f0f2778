"""Why claims differ at the paper's scale, as far as it was found out."""

REMARKS = {
    "K1": (
        "The saving is as large as in the paper at every number of stages, and always less than the formula promises. "
        "It does not grow at each step: at 7 stages (radix 16) the ratio is above that of the second network of 5 "
        "stages (radix 32). Oblivious latency takes long to settle at this load."
    ),
    "K7": (
        "Both kinds of buffers are emptier than the paper's, in the same order: under oblivious routing some are full, "
        "under adaptive none holds more than 4 entries. How much waits in input buffers depends on the crossbar and on "
        "the latency of credits, which the paper does not give; the mean over all buffers differs as well."
    ),
    "K10": (
        "sequential_r(2) is as in the paper, greedy_r(2) is not: its information is too good here. The paper has it "
        "above oblivious routing at this load (60 % above sequential, where figure 2 has oblivious about 43 % above), "
        "but 10 % below it at 0.9 (figure 12). Here the credits of a flit are taken when it enters the output's queue, "
        "so that routing sees what waits there. Credits taken when it leaves the router would bring greedy_r(2) close "
        "to oblivious routing, but greedy would then not saturate early, as it does in the paper (K12, K13): the two "
        "ask for different routers."
    ),
    "K18": (
        "2 and 3 bits save what the paper says, 4 bits no more than these, where the paper has 60 %. One flit of a "
        "packet of 10 more or less in a buffer of 16 entries says little about the next cycles: exact knowledge "
        "makes inputs prefer outputs for differences that do not matter."
    ),
    "K19": (
        "Precision hardly matters to throughput here. With 0 bits a full buffer still counts as unavailable, heads "
        "choose again in every cycle, and the buffers of the overloaded links are full whenever the others are not: "
        "that alone divides the load as well as knowing the fill does. Packets of 10 flits make no difference."
    ),
}
"""By claim, with numbers of the run that the documentation shows."""
