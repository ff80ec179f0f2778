"""What the paper says: claims T1 to T13, each with its rule."""

from phit.studies.tpr import rules
from phit.studies.unported import Claim

CLAIMS = (
    Claim(
        "T1",
        "2",
        "Under UR MIN is best in latency and throughput; VLB reaches about half of it",
        "VLB/MIN throughput 0.42 to 0.58, latency higher at every load",
        rules.minimal_is_best,
    ),
    Claim(
        "T2",
        "2",
        "Under UR UGAL-L reaches 92 % of MIN's throughput and sends 10 to 38 % nonminimally, most at low load",
        "ratio 0.87 to 0.97; 30 to 46 % nonminimal at the lowest load",
        rules.local_wavers,
    ),
    Claim(
        "T3",
        "2",
        "Under UR UGAL-G reaches 98 % of MIN's throughput, with visibly higher latency at low load",
        "ratio 0.95 to 1.0; latency more than 2 % above MIN's",
        rules.global_pays,
    ),
    Claim(
        "T4",
        "2",
        "Under UR TPR sends at most 1 % nonminimally and equals MIN",
        "share at most 1 % at every load; latency and throughput within 2 % of MIN's",
        rules.pattern_is_minimal,
    ),
    Claim(
        "T5",
        "3",
        "Under ADV MIN saturates very early; VLB reaches 90 % of what is possible",
        "MIN at its bound within 5 %, VLB at 0.85 of its bound or more",
        rules.adversarial_bounds,
    ),
    Claim(
        "T6",
        "3",
        "Under ADV UGAL-L sends 28 % minimally at low load and 1 % at saturation",
        "22 to 34 % at the lowest load; at most 3 % where it begins to saturate",
        rules.local_under_attack,
    ),
    Claim(
        "T7",
        "3",
        "Under ADV UGAL-G accepts about 10 % more than UGAL-L and sends about 12 % minimally at high load",
        "throughput ratio 1.05 to 1.15; 8 to 16 % minimal at the highest load",
        rules.global_under_attack,
    ),
    Claim(
        "T8",
        "3",
        "Under ADV TPR accepts more than UGAL-L and VLB, with lower latency at high load than both UGALs; minimal "
        "at 0.05",
        "these orders, latencies at the highest load that all three carry; 99 % minimal at 0.05",
        rules.pattern_under_attack,
    ),
    Claim(
        "T9",
        "table I",
        "Packets sent from router 0 to router 1 in 50 cycles under UGAL-L: 1, 4, 8 (UR), 90, 396 (ADV)",
        "within 10 %, counts below 10 within 1",
        rules.sent_counters,
    ),
    Claim(
        "T10",
        "table II",
        "Mean through count of a port in 50 cycles under UGAL-L: 2.24, 9.86, 20.5 (UR), 5.45, 33.7 (ADV)",
        "within 15 %",
        rules.through_counters,
    ),
    Claim(
        "T11",
        "4 to 6",
        "In node-level mixes TPR beats UGAL-L, has up to 25 % less latency than UGAL-G at low load and 98 % of its "
        "throughput",
        "latency and throughput better than UGAL-L's, latency below UGAL-G's at some low load, throughput 0.95 of "
        "UGAL-G's or more",
        rules.mixes(("4", "5", "6"), below_global=True),
    ),
    Claim(
        "T12",
        "6",
        "In NLC(80,20) below 0.2 TPR sends 99 % minimally, UGAL-L less than 71 %; TPR's throughput is 4 % higher, its "
        "latency 9 % lower",
        "98 % or more; 76 % or less; +2 to +8 %; mean latency 4.5 to 18 % lower",
        rules.mostly_uniform,
    ),
    Claim(
        "T13",
        "7 to 9",
        "In router-level mixes TPR is better than UGAL-L and close to UGAL-G",
        "latency and throughput better than UGAL-L's, throughput 0.95 of UGAL-G's or more",
        rules.mixes(("7", "8", "9"), below_global=False),
    ),
)
