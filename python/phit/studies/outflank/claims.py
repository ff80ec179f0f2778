"""What the paper says: claims O1 to O8, each with its rule."""

from phit.studies.outflank import rules
from phit.studies.unported import Claim

CLAIMS = (
    Claim(
        "O1",
        "table 2",
        "The maximum sustained throughput gamma* of every pattern, routing and size",
        f"at least 25 of 30 equal, none off by more than 0.10; gamma*: {rules.CUT_WORDS}",
        rules.throughput,
    ),
    Claim(
        "O2",
        "table 2",
        "OFR sustains more than ABR at k = 16: from +14 % (Uniform) to +114 % (Butterfly)",
        "each pattern's gain within 15 points",
        rules.gains,
    ),
    Claim(
        "O3",
        "table 2",
        "POR and OFR are about equal at k = 8; at k = 16 OFR wins three patterns, loses one and draws one",
        "k=8: 1 won, 2 lost, 2 drawn; k=16: 3 won, 1 lost, 1 drawn",
        rules.wins,
    ),
    Claim(
        "O4", "table 2", "OFR's best gain over POR is +36 %, for the Butterfly at k = 16", "20 to 50 %", rules.best_gain
    ),
    Claim(
        "O5",
        "table 3",
        "The shares of derouted packets at k = 16: OIDN, WIDN and total of OFR, total of POR",
        "low-load values within 0.01 of the printed ones, at least 19 of 20",
        rules.derouted,
    ),
    Claim(
        "O6",
        "4",
        "Mean lifetime over load at k = 16: OFR's curve extends furthest where table 2 says so",
        "OFR's gamma* among the largest in the same patterns as in table 2; at the largest common load lifetimes in "
        "the order of table 2",
        rules.orderings,
    ),
    Claim(
        "O7",
        "5",
        "The derouted shares are nearly constant up to gamma* (Butterfly)",
        "relative spread at most 20 %",
        rules.constant,
    ),
    Claim("O8", "3.3", "No deadlock and no livelock", "all packets of all runs are delivered", rules.delivered),
)
