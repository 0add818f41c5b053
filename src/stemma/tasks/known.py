"""The public tasks that the lineage is known by: layout of their files, official rows, metrics, and where to get them.

The project holds none of them. `format: cola` in `params.yaml` reads a file of CoLA, whatever its quirks: quotes in GLUE's
tables are characters like any other; CoLA names its columns only in the test file; some lines of QQP have a question too few;
SNLI marks pairs that its annotators could not agree on with `-`. A file's ending says whether it is the original or the Hub's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from stemma.config import TaskFiles, TaskHub
from stemma.data.compression import plain_name
from stemma.protocols import HeadKind
from stemma.tasks.layout import Columns, Format, Layout

__all__ = ["KNOWN", "KnownTask", "known_layout", "layout_of", "official_rows"]

Uneven = Literal["refuse", "leave out", "more"]


@dataclass(frozen=True, kw_only=True)
class KnownTask:
    """A public task."""

    title: str
    kind: HeadKind
    metrics: tuple[str, ...]  # the primary one first
    labels: tuple[str, ...]  # as `params.yaml` names them
    format: Format  # of the original files
    columns: Columns  # names in the originals, then on the Hub
    rows: Mapping[str, int]  # by a file's name without its endings
    where: str
    hub: str  # data set and, behind a colon, its configuration
    licence: str
    label_names: Mapping[str, str] = field(default_factory=dict)  # what the files' spellings and numbers stand for
    bare: Columns | None = None  # where columns stand in files that do not name them
    index: tuple[str, ...] = ("index", "id", "idx")  # the column by which an unlabelled file knows its rows
    no_label: frozenset[str] = frozenset({"-1"})  # the Hub's sign for labels that are not public
    uneven: Uneven = "refuse"
    note: str = ""


def layout_of(source: TaskFiles | TaskHub, file_name: str = "", *, answers: bool = True) -> Layout:
    """How a file of the settings, or a data set of the Hub, is to be read."""
    known = KNOWN.get(source.format or "")
    if known is not None:
        hub = isinstance(source, TaskHub)
        return known_layout(known, ".parquet" if hub else file_name, source, answers=answers)
    if isinstance(source, TaskHub):
        return Layout(format="parquet", columns=source.columns, answers=answers)
    return Layout(
        format=source.format,  # type: ignore[arg-type]  # what is not known is a format
        columns=source.columns,
        header=source.header,
        label_names=source.label_names,
        misplaced=source.misplaced,
        answers=answers,
    )


def known_layout(
    known: KnownTask, file_name: str, source: TaskFiles | TaskHub | None = None, *, answers: bool = True
) -> Layout:
    """How a file of a known task is to be read; what the settings say comes before what is known."""
    format_ = _format(known, file_name)
    columns = {} if format_ == "conll" else {**known.columns, **({} if answers else {"id": known.index})}
    given = source.columns if source is not None else {}
    files = source if isinstance(source, TaskFiles) else None
    return Layout(
        format=format_,
        columns={**columns, **given},
        bare=None if given or known.bare is None or not answers else known.bare,
        label_names={**known.label_names, **(files.label_names if files else {})},
        no_label=known.no_label,
        uneven=known.uneven,
        misplaced=files.misplaced if files else "quarantine",
        answers=answers,
    )


def official_rows(format_name: str | None, file_name: str) -> int | None:
    """How many rows a file of a known task has as it was published, if its name says which file it is."""
    known = KNOWN.get(format_name or "")
    if known is None:
        return None
    name = re.sub(r"\.(tsv|txt|csv|jsonl?|parquet)$", "", plain_name(file_name.replace("\\", "/").split("/")[-1]))
    shard = re.fullmatch(r"(.+)-\d{5}-of-(\d{5})", name)
    if shard:
        return known.rows.get(shard[1]) if int(shard[2]) == 1 else None
    return known.rows.get(name)


def _format(known: KnownTask, file_name: str) -> Format:
    endings: dict[str, Format] = {".parquet": "parquet", ".jsonl": "jsonl"}
    return next((format_ for end, format_ in endings.items() if plain_name(file_name).endswith(end)), known.format)


def _rows(train: int, dev: int, test: int | None = None, **others: int) -> dict[str, int]:
    """Rows by the names that files and the Hub's splits have."""
    of_test = {} if test is None else {"test": test}
    return {"train": train, "dev": dev, "val": dev, "validation": dev, **of_test, **others}


_GLUE: Final = "gluebenchmark.com/tasks"
_PAIR: Final = {"text": "sentence1", "text_pair": "sentence2", "label": "label"}
_ENTAILMENT: Final = ("entailment", "not_entailment")
_NLI: Final = ("entailment", "neutral", "contradiction")
_CHOICES: Final = ("first", "second", "third", "fourth")
_SENTIMENTS: Final = ("very negative", "negative", "neutral", "positive", "very positive")
_TAGS: Final = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC")


def _numbered(labels: tuple[str, ...]) -> dict[str, str]:
    return {str(number): label for number, label in enumerate(labels)}


_ENDINGS: Final[list[str | int]] = ["ending0", "ending1", "ending2", "ending3"]

KNOWN: Final[dict[str, KnownTask]] = {
    "cola": KnownTask(
        title="CoLA",
        kind="classification",
        metrics=("matthews", "accuracy"),
        labels=("unacceptable", "acceptable"),
        format="tsv",
        columns={"text": "sentence", "label": "label"},
        bare={"text": 3, "label": 1},
        label_names=_numbered(("unacceptable", "acceptable")),
        rows=_rows(8_551, 1_043, 1_063),
        where=_GLUE,
        hub="nyu-mll/glue:cola",
        licence="examples from published texts on linguistics",
    ),
    "sst-2": KnownTask(
        title="SST-2",
        kind="classification",
        metrics=("accuracy",),
        labels=("negative", "positive"),
        format="tsv",
        columns={"text": "sentence", "label": "label"},
        label_names=_numbered(("negative", "positive")),
        rows=_rows(67_349, 872, 1_821),
        where=_GLUE,
        hub="nyu-mll/glue:sst2",
        licence="not stated",
    ),
    "mrpc": KnownTask(
        title="MRPC",
        kind="classification",
        metrics=("f1", "accuracy"),
        labels=("not_equivalent", "equivalent"),
        format="tsv",
        columns={
            "text": ("#1 String", "sentence1"),
            "text_pair": ("#2 String", "sentence2"),
            "label": ("Quality", "label"),
        },
        label_names=_numbered(("not_equivalent", "equivalent")),
        rows=_rows(3_668, 408, 1_725, msr_paraphrase_train=4_076, msr_paraphrase_test=1_725),
        where=_GLUE,
        hub="nyu-mll/glue:mrpc",
        licence="Microsoft Research data licence",
        note="dev_ids.tsv beside msr_paraphrase_train.txt divides it as GLUE does",
    ),
    "qqp": KnownTask(
        title="QQP",
        kind="classification",
        metrics=("f1", "accuracy"),
        labels=("not_duplicate", "duplicate"),
        format="tsv",
        columns={"text": "question1", "text_pair": "question2", "label": ("is_duplicate", "label")},
        label_names=_numbered(("not_duplicate", "duplicate")),
        rows=_rows(363_846, 40_430, 390_965),
        where=_GLUE,
        hub="nyu-mll/glue:qqp",
        licence="Quora's terms",
        uneven="leave out",
        note="lines with too few columns are left out and counted",
    ),
    "sts-b": KnownTask(
        title="STS-B",
        kind="regression",
        metrics=("spearman", "pearson"),
        labels=(),
        format="tsv",
        columns={"text": "sentence1", "text_pair": "sentence2", "score": ("score", "label")},
        bare={"text": 5, "text_pair": 6, "score": 4},
        rows={
            **_rows(5_749, 1_500, 1_379),
            "sts-train": 5_749,
            "sts-dev": 1_500,
            "sts-test": 1_379,
        },
        where=_GLUE,
        hub="nyu-mll/glue:stsb",
        licence="as its LICENSE.txt says, by source",
        uneven="more",
        note="scores from 0 to 5; sts-test.tsv of the original has those of the test pairs",
    ),
    "mnli": KnownTask(
        title="MNLI",
        kind="classification",
        metrics=("accuracy",),
        labels=_NLI,
        format="tsv",
        columns={
            "text": ("sentence1", "premise"),
            "text_pair": ("sentence2", "hypothesis"),
            "label": ("gold_label", "label"),
        },
        label_names=_numbered(_NLI),
        rows={
            "train": 392_702,
            **dict.fromkeys(("dev_matched", "validation_matched"), 9_815),
            **dict.fromkeys(("dev_mismatched", "validation_mismatched"), 9_832),
            "test_matched": 9_796,
            "test_mismatched": 9_847,
        },
        where=_GLUE,
        hub="nyu-mll/glue:mnli",
        licence="OANC and others",
        note="dev_matched and dev_mismatched are two tests of one training",
    ),
    "qnli": KnownTask(
        title="QNLI",
        kind="classification",
        metrics=("accuracy",),
        labels=_ENTAILMENT,
        format="tsv",
        columns={"text": "question", "text_pair": "sentence", "label": "label"},
        label_names=_numbered(_ENTAILMENT),
        rows=_rows(104_743, 5_463, 5_463),
        where=_GLUE,
        hub="nyu-mll/glue:qnli",
        licence="CC BY-SA 4.0",
    ),
    "rte": KnownTask(
        title="RTE",
        kind="classification",
        metrics=("accuracy",),
        labels=_ENTAILMENT,
        format="tsv",
        columns=_PAIR,
        label_names=_numbered(_ENTAILMENT),
        rows=_rows(2_490, 277, 3_000),
        where=_GLUE,
        hub="nyu-mll/glue:rte",
        licence="not stated",
    ),
    "wnli": KnownTask(
        title="WNLI",
        kind="classification",
        metrics=("accuracy",),
        labels=("not_entailment", "entailment"),
        format="tsv",
        columns=_PAIR,
        label_names=_numbered(("not_entailment", "entailment")),
        rows=_rows(635, 71, 146),
        where=_GLUE,
        hub="nyu-mll/glue:wnli",
        licence="CC BY 4.0",
        note="sentences of the training file come again in dev with the other label",
    ),
    "ax": KnownTask(
        title="AX, GLUE's diagnostics",
        kind="classification",
        metrics=("matthews",),
        labels=_NLI,
        format="tsv",
        columns={
            "text": ("sentence1", "Premise", "premise"),
            "text_pair": ("sentence2", "Hypothesis", "hypothesis"),
            "label": ("gold_label", "Label", "label"),
        },
        label_names=_numbered(_NLI),
        rows={"diagnostic": 1_104, "test": 1_104},
        where=_GLUE,
        hub="nyu-mll/glue:ax",
        licence="not stated",
        note="for a model tuned on MNLI; labels are not public",
    ),
    "snli": KnownTask(
        title="SNLI",
        kind="classification",
        metrics=("accuracy",),
        labels=_NLI,
        format="tsv",
        columns={
            "text": ("sentence1", "premise"),
            "text_pair": ("sentence2", "hypothesis"),
            "label": ("gold_label", "label"),
        },
        label_names=_numbered(_NLI),
        no_label=frozenset({"-", "-1"}),
        rows={
            **_rows(550_152, 10_000, 10_000),
            "snli_1.0_train": 550_152,
            "snli_1.0_dev": 10_000,
            "snli_1.0_test": 10_000,
        },
        where="nlp.stanford.edu/projects/snli",
        hub="stanfordnlp/snli",
        licence="CC BY-SA 4.0",
        note="785, 158 and 176 pairs without a gold label are left out",
    ),
    "sst-5": KnownTask(
        title="SST-5",
        kind="classification",
        metrics=("accuracy",),
        labels=_SENTIMENTS,
        format="trees",
        columns={"text": "text", "label": "label"},
        label_names=_numbered(_SENTIMENTS),
        rows=_rows(8_544, 1_101, 2_210),
        where="nlp.stanford.edu/sentiment",
        hub="SetFit/sst5",
        licence="not stated",
    ),
    "squad-1.1": KnownTask(
        title="SQuAD 1.1",
        kind="span",
        metrics=("f1", "em"),
        labels=(),
        format="squad",
        columns={"document": "title"},
        rows={"train-v1.1": 87_599, "dev-v1.1": 10_570, "train": 87_599, "validation": 10_570},
        where="rajpurkar.github.io/SQuAD-explorer",
        hub="rajpurkar/squad",
        licence="CC BY-SA 4.0",
    ),
    "squad-2.0": KnownTask(
        title="SQuAD 2.0",
        kind="span",
        metrics=("f1", "em"),
        labels=(),
        format="squad",
        columns={"document": "title"},
        rows={"train-v2.0": 130_319, "dev-v2.0": 11_873, "train": 130_319, "validation": 11_873},
        where="rajpurkar.github.io/SQuAD-explorer",
        hub="rajpurkar/squad_v2",
        licence="CC BY-SA 4.0",
        note="half of dev has no answer; the threshold is chosen on validation",
    ),
    "conll-2003": KnownTask(
        title="CoNLL-2003",
        kind="tagging",
        metrics=("entity_f1", "precision", "recall"),
        labels=_TAGS,
        format="conll",
        columns={"tags": ("ner_tags", "tags")},  # on the Hub; the original's have no names
        rows={
            **_rows(14_041, 3_250, 3_453, testa=3_250, testb=3_453),
            "eng.train": 14_041,
            "eng.testa": 3_250,
            "eng.testb": 3_453,
        },
        where="www.clips.uantwerpen.be/conll2003/ner",
        hub="eriktks/conll2003",
        label_names=_numbered(_TAGS),
        licence="the Reuters corpus's terms: research use",
    ),
    "swag": KnownTask(
        title="SWAG",
        kind="choice",
        metrics=("accuracy",),
        labels=_CHOICES,
        format="csv",
        columns={
            "context": "sent1",
            "question": "sent2",
            "choices": _ENDINGS,
            "label": "label",
        },
        label_names=_numbered(_CHOICES),
        rows=_rows(73_546, 20_006, 20_005),
        where="github.com/rowanz/swagaf",
        hub="allenai/swag:regular",
        licence="MIT",
    ),
    "hellaswag": KnownTask(
        title="HellaSwag",
        kind="choice",
        metrics=("accuracy",),
        labels=_CHOICES,
        format="jsonl",
        columns={
            "id": ["source_id", "ind"],
            "document": "source_id",
            "context": "ctx",
            "choices": "endings",
            "label": "label",
        },
        label_names=_numbered(_CHOICES),
        no_label=frozenset({"-1", ""}),
        rows={
            **_rows(39_905, 10_042, 10_003),
            "hellaswag_train": 39_905,
            "hellaswag_val": 10_042,
            "hellaswag_test": 10_003,
        },
        where="rowanzellers.com/hellaswag",
        hub="Rowan/hellaswag",
        licence="MIT",
        note="one file named for all splits is divided by hash of its source's id",
    ),
}
