"""Which public benchmark a task of `params.yaml` is: known by its format and files, or by its name, however that is spelt."""

import re
from typing import Final

from stemma.config import OfflineProbe, OfflineTask, Params, ProbeBundled, TaskFiles, TaskHub
from stemma.tasks.known import KNOWN, official_rows

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
    "googleanalogies": "Google's analogies",
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
    "questionswords": "googleanalogies",
}


def benchmark_of(params: Params, column: str) -> str | None:
    """The benchmark that a task or probe is, or none: what the project makes itself is none, whatever its name."""
    source = params.tasks[column].source if column in params.tasks else params.probes[column].source
    if isinstance(source, OfflineTask | OfflineProbe):
        return None
    if isinstance(source, ProbeBundled):
        return _named(source.name)
    if isinstance(source, TaskFiles | TaskHub) and source.format in KNOWN:
        return _of_format(source, column)
    return _named(column)


def _of_format(source: TaskFiles | TaskHub, column: str) -> str | None:
    """A known format is that of one benchmark: the task is it where its test file is one that was published, or by its name."""
    files = source.files.get("test", []) if isinstance(source, TaskFiles) else [source.splits.get("test", "")]
    found = _named(source.format or "")
    if found == "mnli" and any("mismatched" in file for file in files):
        found = "mnlimm"
    official = isinstance(source, TaskHub) or all(official_rows(source.format, file) for file in files)
    return found if official or _named(column) == found else None


def _named(name: str) -> str | None:
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    found = _SPELLINGS.get(plain, plain)
    return found if found in TITLES else None
