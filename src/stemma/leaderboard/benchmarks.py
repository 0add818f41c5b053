"""Which public benchmark a task of `params.yaml` is: known by its name, however that is spelt."""

import re
from typing import Final

from stemma.config import OfflineProbe, OfflineTask, Params

__all__ = ["TITLES", "benchmark_of"]

TITLES: Final = {
    "cola": "CoLA",
    "sst2": "SST-2",
    "mrpc": "MRPC",
    "qqp": "QQP",
    "stsb": "STS-B",
    "mnli": "MNLI matched",
    "mnlimm": "MNLI mismatched",
    "qnli": "QNLI",
    "rte": "RTE",
    "wnli": "WNLI",
    "squad": "SQuAD 1.1",
    "squad2": "SQuAD 2.0",
    "conll2003": "CoNLL-2003",
    "swag": "SWAG",
    "hellaswag": "HellaSwag",
    "snli": "SNLI",
    "sst5": "SST-5",
    "blimp": "BLiMP",
    "wordsim353": "WordSim-353",
    "simlex999": "SimLex-999",
}
_SPELLINGS: Final = {
    "mnlim": "mnli",
    "mnlimatched": "mnli",
    "mnlimismatched": "mnlimm",
    "squad1": "squad",
    "squad11": "squad",
    "squadv1": "squad",
    "squadv11": "squad",
    "squad20": "squad2",
    "squadv2": "squad2",
    "conll": "conll2003",
    "conll03": "conll2003",
    "sts": "stsb",
    "stsbenchmark": "stsb",
    "wordsim": "wordsim353",
    "simlex": "simlex999",
}


def benchmark_of(params: Params, column: str) -> str | None:
    """The benchmark that a task or probe is, or none: what the project makes itself is none, whatever its name."""
    source = params.tasks[column].source if column in params.tasks else params.probes[column].source
    if isinstance(source, OfflineTask | OfflineProbe):
        return None
    plain = re.sub(r"[^a-z0-9]", "", column.lower())
    name = _SPELLINGS.get(plain, plain)
    return name if name in TITLES else None
