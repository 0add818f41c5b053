"""Figures that papers and projects report, as data: what, by whom, on which split, with which metric.

They stand in rows of their own, never among ours, and each row says how its protocol differs. A figure is in points (of 100),
as it was printed. `read` says where the figure was read: in the source itself, or in several transcriptions of it that agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = ["PUBLISHED", "Published"]

Figures = Mapping[str, Mapping[str, float]]  # by benchmark, then by metric; "unsaid" where the source names no metric
_TASKS: Final = ("mnli", "mnlimm", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte")


@dataclass(frozen=True, kw_only=True)
class Published:
    """A row of published figures."""

    system: str
    source: str
    split: Literal["dev", "test"]
    protocol: str  # what is not as it is here
    figures: Figures = field(repr=False)
    average: str = ""  # over which tasks
    read: Literal["source", "transcriptions"] = "source"


def _glue(metrics: Mapping[str, str], values: str, names: tuple[str, ...] = _TASKS) -> dict[str, dict[str, float]]:
    """A row of a GLUE table, its columns in the order of `names`; `-` is none."""
    figures = zip(names, values.split(), strict=True)
    return {name: {metrics.get(name, "accuracy"): float(value)} for name, value in figures if value != "-"}


# F1 for QQP and MRPC: the GLUE server's first metric, which Table 1 of BERT's paper shows.
_BERT_TABLE_1: Final = {"qqp": "f1", "mrpc": "f1", "cola": "matthews", "stsb": "spearman"}
_GPT_TABLE_5: Final = _BERT_TABLE_1 | {"stsb": "pearson"}
_UNSAID: Final = {"qqp": "unsaid", "mrpc": "unsaid", "cola": "matthews", "stsb": "unsaid"}
_SERVER: Final = "GLUE's test server; F1 for QQP and MRPC"
_BERT_PAPER: Final = "Devlin et al. 2019"
_BOOKS_AND_WIKIPEDIA: Final = "pretrained on 3.3 billion words"
_MINIATURE: Final = f"{_SERVER}; {_BOOKS_AND_WIKIPEDIA}; the best of five batch sizes and four learning rates, 4 epochs"
_MINIATURES: Final = "Turc et al. 2019, google-research/bert"
_CRAMMING: Final = "Geiping and Goldstein 2022"
_SANE: Final = (
    "one setting for all tasks, at most 5 epochs, median of 5 runs; QQP's, MRPC's and STS-B's metric is not named"
)
_BABYLM: Final = "BabyLM's filtered GLUE, not the whole; pretrained on 10 million words"
_BLIMP: Final = "Warstadt et al. 2020, the authors' corrected results"
_TRIAL: Final = "trained on text8, 17 million words, five epochs, 100 dimensions"


def _miniature(system: str, values: str, average: float) -> Published:
    """A row of the miniatures' table: CoLA, SST-2, MRPC F1 and accuracy, STS-B, QQP F1 and accuracy, MNLI, QNLI, RTE."""
    cola, sst2, mrpc_f1, mrpc, pearson, spearman, qqp_f1, qqp, mnli, mnlimm, qnli, rte = map(float, values.split())
    return Published(
        system=system,
        source=_MINIATURES,
        split="test",
        protocol=_MINIATURE,
        average=f"{average} over GLUE with WNLI",
        figures={
            "cola": {"matthews": cola},
            "sst2": {"accuracy": sst2},
            "mrpc": {"f1": mrpc_f1, "accuracy": mrpc},
            "stsb": {"pearson": pearson, "spearman": spearman},
            "qqp": {"f1": qqp_f1, "accuracy": qqp},
            "mnli": {"accuracy": mnli},
            "mnlimm": {"accuracy": mnlimm},
            "qnli": {"accuracy": qnli},
            "rte": {"accuracy": rte},
        },
    )


def _server(system: str, values: str, average: float, protocol: str) -> Published:
    """A row of Table 1 of BERT's paper."""
    return Published(
        system=system,
        source=f"{_BERT_PAPER}, Table 1",
        split="test",
        protocol=f"{_SERVER}; {protocol}",
        average=f"{average} over GLUE without WNLI",
        figures=_glue(_BERT_TABLE_1, values),
    )


def _crammed(system: str, values: str, average: float, protocol: str) -> Published:
    return Published(
        system=system,
        source=_CRAMMING,
        split="dev",
        protocol=f"{_SANE}; {protocol}",
        average=f"{average} over GLUE without WNLI",
        figures=_glue(_UNSAID, values, ("mnli", "mnlimm", "sst2", "stsb", "rte", "qnli", "qqp", "mrpc", "cola")),
        read="transcriptions",
    )


def _bilstm(system: str, values: str) -> Published:
    order = ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte")
    return Published(
        system=system,
        source="Wang et al. 2018, GLUE's leaderboard",
        split="test",
        protocol=f"{_SERVER}; Pearson for STS-B",
        figures=_glue(_GPT_TABLE_5, values, order),
    )


def _babylm(system: str, values: str) -> Published:
    order = ("cola", "sst2", "mrpc", "qqp", "mnli", "mnlimm", "qnli", "rte")
    return Published(
        system=system,
        source="BabyLM 2023, baselines of the strict-small track",
        split="dev",
        protocol=f"{_BABYLM}; F1 for QQP and MRPC",
        figures=_glue(_BERT_TABLE_1, values, order),
    )


def _blimp(system: str, value: float, source: str, protocol: str) -> Published:
    return Published(
        system=system, source=source, split="test", protocol=protocol, figures={"blimp": {"accuracy": value}}
    )


PUBLISHED: Final = (
    _bilstm("BiLSTM", "11.6 82.8 81.8 70.3 62.5 65.6 74.6 57.4"),
    _bilstm("BiLSTM + attention", "18.6 83.0 83.9 72.8 60.1 67.6 74.3 58.4"),
    _bilstm("BiLSTM + CoVe", "18.5 81.9 78.7 64.4 60.6 65.4 70.8 52.7"),
    _bilstm("BiLSTM + ELMo", "32.1 89.3 84.7 70.3 61.1 67.2 75.5 57.4"),
    Published(
        system="task networks + ELMo",
        source="Peters et al. 2018, Table 1",
        split="test",
        protocol="each task's own network below ELMo; pretrained on a billion words",
        figures={
            "squad": {"f1": 85.8},
            "snli": {"accuracy": 88.7},
            "conll2003": {"entity_f1": 92.22},
            "sst5": {"accuracy": 54.7},
        },
        read="transcriptions",
    ),
    Published(
        system="task networks without ELMo",
        source="Peters et al. 2018, Table 1",
        split="test",
        protocol="each task's own network on static word vectors",
        figures={
            "squad": {"f1": 81.1},
            "snli": {"accuracy": 88.0},
            "conll2003": {"entity_f1": 90.15},
            "sst5": {"accuracy": 51.4},
        },
        read="transcriptions",
    ),
    Published(
        system="ESIM + GloVe",
        source=f"{_BERT_PAPER}, Table 4",
        split="test",
        protocol="the official test file, whose labels are not public",
        figures={"swag": {"accuracy": 52.7}},
    ),
    Published(
        system="ESIM + ELMo",
        source=f"{_BERT_PAPER}, Table 4",
        split="test",
        protocol="the official test file, whose labels are not public",
        figures={"swag": {"accuracy": 59.2}},
    ),
    _server("BiLSTM + ELMo + attention", "76.4 76.1 64.8 79.8 90.4 36.0 73.3 84.9 56.8", 71.0, "frozen ELMo"),
    _server("GPT", "82.1 81.4 70.3 87.4 91.3 45.4 80.0 82.3 56.0", 75.1, "pretrained on 0.8 billion words of books"),
    Published(
        system="GPT",
        source="Radford et al. 2018",
        split="test",
        protocol="the official test files; pretrained on 0.8 billion words of books",
        figures={"snli": {"accuracy": 89.9}},
        read="transcriptions",
    ),
    Published(
        system="GPT",
        source=f"{_BERT_PAPER}, Table 4",
        split="test",
        protocol="the official test file, whose labels are not public; pretrained on 0.8 billion words of books",
        figures={"swag": {"accuracy": 78.0}},
    ),
    _server("BERT BASE", "84.6 83.4 71.2 90.5 93.5 52.1 85.8 88.9 66.4", 79.6, _BOOKS_AND_WIKIPEDIA),
    _server("BERT LARGE", "86.7 85.9 72.1 92.7 94.9 60.5 86.5 89.3 70.1", 82.1, _BOOKS_AND_WIKIPEDIA),
    Published(
        system="BERT BASE",
        source=f"{_BERT_PAPER}, Tables 2, 4, 5 and 7",
        split="dev",
        protocol=f"{_BOOKS_AND_WIKIPEDIA}; accuracy for MRPC; CoNLL-2003 with document context, cased, mean of 5 runs",
        figures={
            "mnli": {"accuracy": 84.4},
            "qnli": {"accuracy": 88.4},
            "mrpc": {"accuracy": 86.7},
            "sst2": {"accuracy": 92.7},
            "squad": {"em": 80.8, "f1": 88.5},
            "swag": {"accuracy": 81.6},
            "conll2003": {"entity_f1": 96.4},
        },
    ),
    Published(
        system="BERT LARGE",
        source=f"{_BERT_PAPER}, Tables 2, 3, 4 and 7",
        split="dev",
        protocol=f"{_BOOKS_AND_WIKIPEDIA}; CoNLL-2003 with document context, cased, mean of 5 runs",
        figures={
            "squad": {"em": 84.1, "f1": 90.9},
            "squad2": {"em": 78.7, "f1": 81.9},
            "swag": {"accuracy": 86.6},
            "conll2003": {"entity_f1": 96.6},
        },
    ),
    Published(
        system="BERT BASE",
        source=f"{_BERT_PAPER}, Table 7",
        split="test",
        protocol=f"{_BOOKS_AND_WIKIPEDIA}; with document context, cased, mean of 5 runs",
        figures={"conll2003": {"entity_f1": 92.4}},
    ),
    Published(
        system="BERT BASE cased, run_glue",
        source="Hugging Face transformers, examples",
        split="dev",
        protocol=f"{_BOOKS_AND_WIKIPEDIA}; one seed, 3 epochs, learning rate 2e-5",
        figures={
            "cola": {"matthews": 56.53},
            "sst2": {"accuracy": 92.32},
            "mrpc": {"f1": 88.85, "accuracy": 84.07},
            "stsb": {"pearson": 88.64, "spearman": 88.48},
            "qqp": {"accuracy": 90.71, "f1": 87.49},
            "mnli": {"accuracy": 83.91},
            "mnlimm": {"accuracy": 84.10},
            "qnli": {"accuracy": 90.66},
            "rte": {"accuracy": 65.70},
            "wnli": {"accuracy": 56.34},
        },
    ),
    Published(
        system="BERT BASE uncased, run_qa",
        source="Hugging Face transformers, examples",
        split="dev",
        protocol=f"{_BOOKS_AND_WIKIPEDIA}; one seed, trained on SQuAD's own training file",
        figures={"squad": {"em": 81.22, "f1": 88.52}},
    ),
    _miniature("BERT Tiny (2 layers, 128)", "0.0 83.2 81.1 71.1 74.3 73.6 62.2 83.4 70.2 70.3 81.5 57.2", 64.2),
    _miniature("BERT Mini (4 layers, 256)", "0.0 85.9 81.1 71.8 75.4 73.3 66.4 86.2 74.8 74.3 84.1 57.9", 65.8),
    _miniature("BERT Small (4 layers, 512)", "27.8 89.7 83.4 76.2 78.8 77.0 68.1 87.0 77.6 77.0 86.4 61.8", 71.2),
    _miniature("BERT Medium (8 layers, 512)", "38.0 89.6 86.6 81.6 80.4 78.4 69.6 87.9 80.0 79.1 87.7 62.2", 73.5),
    _crammed("BERT BASE, full", "83.2 83.4 91.9 86.7 59.2 90.6 87.7 89.3 56.5", 80.9, _BOOKS_AND_WIKIPEDIA),
    _crammed("BERT BASE, no pretraining", "34.1 34.1 79.9 17.8 47.3 50.0 68.6 77.9 0.0", 45.5, "no pretraining"),
    _crammed("crammed BERT", "83.9 84.1 92.2 84.6 53.8 89.5 87.3 87.5 44.5", 78.6, "pretrained for a day on one A6000"),
    _babylm("OPT 125m", "15.2 81.9 72.5 60.4 57.6 60.0 61.5 60.0"),
    _babylm("RoBERTa", "25.8 87.0 79.2 73.7 73.2 74.0 77.0 61.6"),
    _babylm("T5", "11.3 78.1 80.5 66.2 48.0 50.3 62.0 49.4"),
    _blimp("5-gram", 61.2, _BLIMP, "trained on billions of words"),
    _blimp("LSTM", 69.8, _BLIMP, "trained on 83 million words"),
    _blimp("Transformer-XL", 69.6, _BLIMP, "trained on 103 million words"),
    _blimp("GPT-2 large", 83.0, _BLIMP, "trained on 40 GB of text"),
    _blimp("BabyLlama, 10 million words", 69.8, "BabyLM 2024, baselines", "a tie counts as right"),
    _blimp("LTG-BERT, 10 million words", 60.6, "BabyLM 2024, baselines", "a tie counts as right"),
    _blimp("GPT-2 small, 10 million words", 67.3, "BabyLM 2025, baselines", "a tie counts as right"),
    Published(
        system="word2vec on text8",
        source="gensim's notebooks",
        split="test",
        protocol=f"{_TRIAL}, window 15",
        figures={"wordsim353": {"spearman": 69.5}, "simlex999": {"spearman": 29.4}},
    ),
    Published(
        system="word2vec on text8, window 5",
        source="gensim's notebooks",
        split="test",
        protocol=f"{_TRIAL}, window 5; 4,955 of the 12,268 questions whose words it knows: semantic 38.97 % (1,599 of 4,103), "
        "syntactic 41.10 % (3,356 of 8,165)",
        figures={"googleanalogies": {"accuracy": 40.39}},
    ),
)
