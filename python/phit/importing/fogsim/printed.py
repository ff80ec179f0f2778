"""FOGSim's output of a run: its parameters and its statistics."""

import re
from pathlib import Path

from phit.base.errors import InputError
from phit.importing.fogsim.configuration import Configuration
from phit.importing.fogsim.scenario import translate
from phit.importing.found import Findings
from phit.importing.printed import Printed
from phit.importing.settings import Setting, Status
from phit.importing.text import text_of

LABELS = {
    "Max Cycles": "MaxCycles",
    "H": "H",
    "P": "P",
    "A": "A",
    "Xbar Delay": "XbarDelay",
    "Out Queue Length": "OutQueueLength",
    "Internal SpeedUp": "InternalSpeedup",
    "Arbiter Iterations": "ArbiterIterations",
    "Injection Delay": "InjectionDelay",
    "Local Link Delay": "LocalLinkTransmissionDelay",
    "Global Link Delay": "GlobalLinkTransmissionDelay",
    "Packet Size (in phits)": "PacketSize",
    "Flit Size (in phits)": "FlitSize",
    "Generator Queue Length": "InjectionQueueLength",
    "Local Queue Length": "LocalQueueLength",
    "Global Queue Length": "GlobalQueueLength",
    "Local Link VCs": "LocalLinkChannels",
    "Global Link VCs": "GlobalChannels",
    "Seed": "Seed",
    "Palm Tree Configuration": "PalmTreeConfiguration",
    "Input Speedup": "CrossbarPortsPerInPort",
    "Injection Probability": "Probability",
    "Traffic": "Traffic",
    "Random Traffic Percent": "randomTrafficPercent",
    "Adv Local Traffic Percent": "localAdvTrafficPercent",
    "Adv Global Traffic Percent": "globalAdvTrafficPercent",
    "Adversarial Traffic Distance": "AdvTrafficDistance",
    "Routing": "routing",
    "Global Misrouting": "GlobalMisroutingPolicy",
    "Misrouting Trigger": "MisroutingTrigger",
    "UGAL Local Threshold": "ugal_local_threshold",
    "UGAL Global Threshold": "ugal_global_threshold",
    "Piggybacking Coef": "piggybacking_coef",
    "Local Threshold Percent": "PercentLocalThreshold",
    "Global Threshold Percent": "PercentGlobalThreshold",
    "Threshold Min": "ThMin",
    "Restriction Coef Percent": "VcMisroutingCongestedRestrictionCoefPercent",
    "Restriction Threshold": "VcMisroutingCongestedRestrictionThreshold",
    "Contention Threshold": "ContentionThreshold",
    "Contention Global Threshold": "ContentionGlobalThreshold",
    "Increase Contention At Header": "increaseContentionAtHeader",
    "Force Misrouting": "forceMisrouting",
}
"""Keys for the labels in the output. The output has no channels of endpoints and no thresholds of `PB`."""

_WORDS = {
    "Switch": {"IOQ": "IOQ_SW", "BASE": "BASE_SW"},
    "Deadlock Avoidance Mechanism": {"Dally": "DALLY"},
    "Misrouting Trigger": {"ECtN": "CA_REMOTE", "HYBRID ECtN": "HYBRID_REMOTE", "DUAL CA": "DUAL"},
}
"""Words of the output that differ from words of a configuration."""

_KEYS = {**LABELS, "Switch": "Switch", "Deadlock Avoidance Mechanism": "deadlock_avoidance"}

_NUMBERS = {
    "accepted_load": re.compile(r"^Accepted Load: (\S+)", re.M),
    "latency_mean": re.compile(r"^Average Total Packet Latency: (\S+)", re.M),
    "hops_mean": re.compile(r"^Average Distance: (\S+)", re.M),
}

INJECTION = "3"
"""Virtual channels of endpoints, which the output lacks: the number in FOGSim's example."""


def printed(path: Path) -> Printed:
    """The run whose results are in a file."""
    text = text_of(path)
    parameters, _, statistics = text.partition("\nSTATISTICS")
    settings = []
    for line in parameters.splitlines():
        label, colon, value = line.partition(":")
        key = _KEYS.get(label.strip())
        if colon and key:
            word = value.split(" (")[0].strip()
            settings.append(Setting(key, _WORDS.get(label.strip(), {}).get(word, word), str(path)))
    findings = Findings()
    settings.append(Setting("InjectionChannels", INJECTION, str(path)))
    reason = "FOGSim does not write it; as in its example"
    findings.note(Status.DROPPED, settings[-1], reason)
    translate(Configuration(settings, findings))
    numbers = {}
    for name, pattern in _NUMBERS.items():
        found = pattern.search(statistics)
        if found is not None:
            try:
                numbers[name] = float(found[1])
            except ValueError:
                continue
    if not numbers:
        raise InputError(f"{path}: the output has no results; the run may have ended early")
    return Printed(findings.finished("fogsim", ()), numbers, saturated=False)
