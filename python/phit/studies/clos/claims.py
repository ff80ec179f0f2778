"""What the paper says, K1 to K20."""

from phit.studies.clos import claims_allocation as allocation
from phit.studies.clos import claims_routing as routing
from phit.studies.unported import Claim

CLAIMS = (
    Claim(
        "K1",
        "2",
        "Adaptive routing saves up to 40 % of the latency at 0.95, about 30 % at high radix, as (x + 1)/(2x + 1)",
        "ratio 0.55 to 0.75 at each number of stages, falling with these, above the formula",
        routing.stages_and_ratio,
    ),
    Claim(
        "K2",
        "4a",
        "With infinite buffers both reach nearly 100 % throughput, adaptive with lower latency at high load",
        "accepted ≥ 0.97 at 0.98 offered for both; lower at loads of 0.8 to 0.95",
        routing.infinite_buffers,
    ),
    Claim(
        "K3",
        "5",
        "At 0.9 oblivious latency is about 38 % above adaptive, whose standard deviation is 20 % less",
        "25 to 50 %; 12 to 30 %",
        routing.distribution,
    ),
    Claim(
        "K4",
        "4b",
        "With buffers of 16 entries adaptive routing gains about 10 % throughput",
        "1.05 to 1.20 times",
        routing.finite_buffers,
    ),
    Claim(
        "K5",
        "4c",
        "Bit reverse follows wc-UR",
        "adaptive's latency lower at 0.8 to 0.95, its throughput no lower",
        routing.bit_reverse,
    ),
    Claim(
        "K6",
        "4d",
        "Under bit complement adaptive routing has the same latency at every load, oblivious does not",
        "adaptive's latency at 0.95 within 2 % of that at the lowest load",
        routing.bit_complement,
    ),
    Claim(
        "K7",
        "6",
        "At 0.8 with 16 entries the fullest buffers of the middle stage hold 5 entries on average, some 16, under "
        "oblivious routing, and 3, at most 7, under adaptive",
        "4 to 6, at most 16; 2 to 4, at most 9",
        routing.fullest_buffers,
    ),
    Claim(
        "K8",
        "7a",
        "With half the traffic deterministic oblivious routing stays below 70 % throughput, adaptive reaches 100 %",
        "≤ 0.72; ≥ 0.97",
        routing.deterministic_half,
    ),
    Claim(
        "K9",
        "7b",
        "With 16 of 1,024 links faulty adaptive routing has about twice the throughput",
        "1.7 to 2.3 times",
        routing.faulty_links,
    ),
    Claim(
        "K10",
        "9a",
        "With infinite buffers at 0.95 sequential_r(2) is about 10 % above sequential, greedy_r(2) about 60 %",
        "3 to 20 %; 40 to 80 %",
        allocation.two_samples_unbounded,
    ),
    Claim(
        "K11",
        "9b",
        "With 16 entries at 0.85 greedy_r(2) is less than 20 % above sequential",
        "≤ 20 %",
        allocation.two_samples_bounded,
    ),
    Claim(
        "K12",
        "9",
        "Greedy allocation saturates below 60 % at radix 64, whatever the buffers",
        "≤ 0.62",
        allocation.greedy_saturates,
    ),
    Claim(
        "K13",
        "10a",
        "Greedy allocation of 4,096 nodes: nearly 100 % at radix 4, under 80 % at 16, under 60 % from 32 on",
        "≥ 0.95; < 0.80; < 0.60",
        allocation.greedy_and_radix,
    ),
    Claim(
        "K14",
        "10b",
        "Larger packets raise the throughput of greedy allocation",
        "monotone over 1, 2, 4, 8 flits",
        allocation.greedy_and_size,
    ),
    Claim(
        "K15",
        "11",
        "The probability of two or more heads in one cycle at radix 64 with 8 flits is as at radix 8 with 1 flit",
        "curves within 0.1, equal to the closed form",
        allocation.probability,
    ),
    Claim(
        "K16",
        "12",
        "At 0.9, n from 1 to 2 lowers greedy_r by about 10 % and sequential_r by over 20 %; up to 32 sequential_r "
        "gains under 10 % more, greedy_r gets worse and unstable",
        "5 to 20 %; > 20 %; < 10 %; above n = 2 or saturated",
        allocation.samples,
    ),
    Claim(
        "K17",
        "14a",
        "Near saturation, packets of 1 flit: 0 to 4 bits differ by under 10 %",
        "≤ 12 %",
        allocation.precision_short,
    ),
    Claim(
        "K18",
        "14b",
        "Packets of 10 flits: 4 bits save over 60 % of the latency with 0 bits, 2 or 3 bits over 40 %",
        "≥ 50 %; ≥ 35 %",
        allocation.precision_long,
    ),
    Claim(
        "K19",
        "15",
        "With the faults 0 bits lose about 15 % of the throughput with 4 bits, 2 bits half that, 3 bits nothing",
        "10 to 20 %; 4 to 11 %; ≤ 3 %",
        allocation.precision_faults,
    ),
    Claim(
        "K20",
        "16",
        "Allocations computed 1 or 2 cycles ahead are about as good; 2 ahead about 10 % more latency near saturation",
        "≤ 5 %; ≤ 20 %",
        allocation.precomputation,
    ),
)
