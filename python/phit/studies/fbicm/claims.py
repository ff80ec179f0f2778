"""What the report says: claims F1 to F11, each with its rule."""

from phit.studies.fbicm import rules
from phit.studies.unported import Claim

CLAIMS = (
    Claim(
        "F1",
        "5.1",
        "Uniform traffic: FBICM is at the level of VOQnet",
        "within 5 % of VOQnet at each load, in both networks",
        rules.level_under_uniform,
    ),
    Claim(
        "F2",
        "5.1",
        "Uniform traffic: DBBM is below, the more so at higher load and in the larger network; 1Q is lowest",
        "at full load 1Q < DBBM < FBICM; DBBM's gap grows with load and network",
        rules.ranking_under_uniform,
    ),
    Claim(
        "F3",
        "5.2",
        "Single hot spot: FBICM holds at the level of VOQnet while congestion lasts",
        "mean throughput while the hot spot is there within 5 % of VOQnet",
        rules.level_under_single,
    ),
    Claim(
        "F4",
        "5.2",
        "VOQsw and DBBM drop when congestion arises; DBBM, to about 65 %, half as much as VOQsw",
        "VOQsw < DBBM < FBICM while the hot spot is there; DBBM 0.55 to 0.75",
        rules.fall,
    ),
    Claim(
        "F5",
        "5.2",
        "One queue is poor and recovers very slowly",
        "lowest while the hot spot is there; longest time until 90 % of the throughput before",
        rules.slow_recovery,
    ),
    Claim(
        "F6",
        "5.3",
        "Several hot destinations behind one internal point, more than a list holds: FBICM still at VOQnet's level",
        "within 7 % of VOQnet",
        rules.level_under_multiple,
    ),
    Claim(
        "F7",
        "5.4",
        "I/O traces compressed 20 and 40 times: FBICM like VOQnet, not below DBBM and VOQsw",
        "within 2 % of VOQnet; at or above DBBM and VOQsw (but for 0.005)",
        rules.input_output,
    ),
    Claim(
        "F8",
        "table 5.3",
        "Bytes of a CAM for 64, 256, 1,024 endpoints: 1,072, 4,144, 16,432 in the first version, 176 in the new one",
        "exact",
        rules.memories,
    ),
    Claim(
        "F9", "3.2", "Packets of a flow are delivered in order", "none out of order in any FBICM run", rules.in_order
    ),
    Claim(
        "F10",
        "4.2-4.3",
        "The new version sends fewer notification bits, frees CFQs sooner, and has its CAM off without congestion",
        "less, and sooner beyond the 95 % interval over seeds, on cases #2 and #3; never on at a load of 0.1",
        rules.cheaper_version,
    ),
    Claim(
        "F11",
        "1",
        "A queue shared by congested and other flows limits a switch to about 58 %",
        "2 - sqrt(2) ± 0.01 on one switch of 64 ports",
        rules.head_of_line_limit,
    ),
)
