"""What the paper says: claims C1 to C18, each with its rule.

Rules are strict but for C2, C3, C10 and C17, where mechanisms that may be equal are told apart: there `evidence.NOISE`,
0.5 %, counts as no difference.
"""

from phit.studies.claims import Claim
from phit.studies.contention import claims_steady as steady
from phit.studies.contention import claims_transient as transient

CLAIMS = (
    Claim(
        "C1",
        "5a",
        "Under UN before saturation Base and ECtN have MIN's latency",
        "within 2 % of MIN at every load up to 80 % of MIN's saturation",
        steady.counters_match_minimal,
    ),
    Claim(
        "C2",
        "5a",
        "Under UN the credit-based PB and OLM pay for occasional misrouting",
        "above MIN by more than 2 % at some load up to 60 % of MIN's saturation, never below it by more than 0.5 %",
        steady.credits_cost_latency,
    ),
    Claim(
        "C3",
        "5a",
        "Hybrid lies between MIN and OLM in latency",
        "MIN × 0.995 ≤ Hybrid ≤ OLM × 1.02 up to 80 % of MIN's saturation",
        steady.hybrid_between,
    ),
    Claim(
        "C4",
        "5a",
        "At saturation OLM, Base, ECtN and Hybrid accept more than MIN; Hybrid the most",
        "this order; Base and ECtN within 5 % of OLM",
        steady.more_throughput,
    ),
    Claim(
        "C5",
        "5b",
        "Under ADV+1 MIN collapses; OLM, Base, Hybrid and ECtN reach the Valiant limit of 0.5",
        "MIN accepts 1/(a·p) within 10 %, the others 0.45 or more",
        steady.valiant_limit,
    ),
    Claim(
        "C6",
        "5b",
        "PB is slightly worse than VAL under ADV+1",
        "latency at or above VAL's at 0.3 to 0.4, throughput at most VAL's × 1.02",
        steady.piggyback_behind_valiant,
    ),
    Claim(
        "C7",
        "5b",
        "OLM beats VAL in latency under ADV+1",
        "below VAL's at loads of 0.1 to 0.4",
        steady.opportunistic_beats_valiant,
    ),
    Claim(
        "C8",
        "5b",
        "Three zones of the counters: low latency at 0.01, above OLM at 0.05 to 0.10, competitive above",
        "Base at 0.01 < OLM at 0.05; Base > OLM at 0.05 and 0.10; Base within 15 % of OLM at 0.35 to 0.45",
        steady.three_zones,
    ),
    Claim(
        "C9",
        "5b",
        "ECtN is the best of all under ADV+1 from 0.15 to 0.45",
        "latency at most OLM's at each load",
        steady.notification_is_best,
    ),
    Claim(
        "C10",
        "5c",
        "Under ADV+h ECtN is slightly behind OLM at 0.1 to 0.3; VAL and PB come closer than under ADV+1",
        "ECtN/OLM in 1.00 (0.995 or more) to 1.15; VAL/OLM lower than under ADV+1",
        steady.far_groups,
    ),
    Claim(
        "C11",
        "6",
        "In mixes of UN and ADV+1 at a load of 0.35 ECtN beats OLM; Base and Hybrid are competitive",
        "ECtN < OLM at each mix; Base, Hybrid within 15 % of OLM",
        steady.mixes,
    ),
    Claim(
        "C12",
        "7a",
        "After UN becomes ADV+1 Base and Hybrid settle within tens of cycles, OLM and PB need about 100",
        "settling to within 10 % of the new latency: Base, Hybrid ≤ 1/3 of OLM's time",
        transient.reaction,
    ),
    Claim(
        "C13",
        "7a",
        "ECtN follows Base until the next update of the partial counters, then improves on it",
        "latency after the update below Base's",
        transient.after_the_update,
    ),
    Claim(
        "C14",
        "7b",
        "With counters the misrouted share settles near 0 % under UN and near 100 % under ADV+1",
        "at most 2 % and at least 95 %",
        transient.all_or_nothing,
    ),
    Claim(
        "C15",
        "8",
        "With buffers of 256 and 2,048 phits OLM needs about 1,000 cycles and PB about 500, the counters no longer "
        "than before",
        "OLM and PB at least 4 times their time with small buffers, Base and ECtN at most 1.5 times",
        transient.large_buffers,
    ),
    Claim(
        "C16",
        "9",
        "PB oscillates with a period of about 500 cycles after the change; ECtN is flat",
        "period 300 to 700 cycles; ECtN's standard deviation below 1/3 of PB's",
        transient.oscillation,
    ),
    Claim(
        "C17",
        "10",
        "Low thresholds hurt throughput under UN, high ones latency under ADV; the mean counter under saturated UN is "
        "about the mean number of VCs per input",
        "monotone over th = 3 to 12 but for 0.5 %, worse below 2 × VCs (6) and above p (8); mean counter 2.74 ± 15 %",
        steady.thresholds,
    ),
    Claim(
        "C18",
        "VI-B",
        "The full partial array costs about 6 phits per 100 cycles, 6 % of a link",
        "128 counters × 4 bit; ECtN run again with this traffic really sent",
        steady.update_traffic,
    ),
)
