"""The types of `params.yaml`: unknown keys, values out of range and names unfit for a command line are errors.

No defaults for anything that changes a result: a setting that is not in the file would not be in `dvc.lock` either. What a
family's own settings mean is said in the family's file (its `params` type), so that a new family does not touch this one.
"""

import itertools
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, model_validator
from pydantic import ValidationError as PydanticValidationError

from stemma.errors import InputError, SettingsError

__all__ = [
    "BundledSource",
    "Cleaning",
    "Corpus",
    "Evaluation",
    "FilesSource",
    "Finetuning",
    "GeneratedPairs",
    "GeneratedSource",
    "Grid",
    "HubSource",
    "KnownFormat",
    "NearDuplicates",
    "OfflineProbe",
    "OfflineTask",
    "Pair",
    "ParallelFiles",
    "Params",
    "Probe",
    "ProbeBundled",
    "ProbeFiles",
    "Release",
    "Settings",
    "Source",
    "Splits",
    "Task",
    "TaskFiles",
    "TaskHub",
    "Tokenizer",
    "Transfer",
    "Validation",
    "Variant",
    "load_params",
    "parse_settings",
    "resolve_path",
]

T = TypeVar("T", bound="Settings")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


def _check_name(value: object) -> object:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"{value!r} is not a name: use small letters, digits, '-' and '_' only")
    return value


Name = Annotated[str, BeforeValidator(_check_name)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Settings(BaseModel):
    """A frozen group of settings that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class BundledSource(Settings):
    """Text that an installed package carries: works offline."""

    kind: Literal["bundled"]
    name: Literal["wikipedia-sample"]
    licence: str


class GeneratedSource(Settings):
    """Text that the project writes itself, from a grammar: works offline, and a small model learns it in minutes."""

    kind: Literal["generated"]
    name: Literal["stories"]
    documents: PositiveInt
    seed: int
    licence: str


class FilesSource(Settings):
    """Local files. One outside `data/external` needs its sha256, or a change of it would go unseen."""

    kind: Literal["files"]
    paths: list[str] = Field(min_length=1)
    format: Literal["text", "blocks", "jsonl", "parquet", "mediawiki"]
    licence: str
    text_column: str = "text"
    id_column: str | None = None
    sha256: dict[str, Sha256] = {}


class HubSource(Settings):
    """A data set of the Hugging Face Hub, in parquet, at a fixed revision."""

    kind: Literal["hub"]
    dataset: str
    config: str | None = None
    split: str
    revision: str
    licence: str
    text_column: str = "text"


class ParallelFiles(Settings):
    """Two aligned files, a sentence a line: the source and its translation. Two for each split, where a set has its own.

    One outside `data/external` needs its sha256, or a change of it would go unseen.
    """

    kind: Literal["parallel-files"]
    files: tuple[str, str] | dict[Literal["train", "validation", "test"], tuple[str, str]]
    licence: str
    sha256: dict[str, Sha256] = {}


class GeneratedPairs(Settings):
    """Sentences that the project writes itself, with their translation by rules: works offline."""

    kind: Literal["generated-pairs"]
    name: Literal["invented-language"]
    pairs: PositiveInt
    seed: int
    licence: str


Source = Annotated[
    BundledSource | GeneratedSource | FilesSource | HubSource | ParallelFiles | GeneratedPairs,
    Field(discriminator="kind"),
]


class Corpus(Settings):
    """What a variant pretrains on: documents, or sentences with their translations."""

    kind: Literal["documents", "parallel"]
    sources: dict[Name, Source] = Field(min_length=1)

    @model_validator(mode="after")
    def _sources_fit_the_kind(self) -> "Corpus":
        for name, source in self.sources.items():
            if isinstance(source, ParallelFiles | GeneratedPairs) != (self.kind == "parallel"):
                raise ValueError(
                    f"sources.{name}: a source of kind {source.kind!r} does not make a corpus of {self.kind!r}"
                )
        return self


class Splits(Settings):
    """Shares of documents by hash of their id; training gets the rest."""

    validation: Share
    test: Share

    @model_validator(mode="after")
    def _leave_something_to_train_on(self) -> "Splits":
        if self.validation + self.test >= 1.0:
            raise ValueError("validation and test together leave nothing to train on")
        return self


class Validation(Settings):
    """When rows, and when whole inputs, are refused."""

    max_quarantined_share: Share
    min_characters: PositiveInt
    max_characters: PositiveInt
    max_label_share: Share
    overlap_ngram: PositiveInt
    max_overlap_share: Share


class NearDuplicates(Settings):
    """MinHash: which documents count as the same text."""

    threshold: Share
    permutations: PositiveInt
    shingle: PositiveInt


class Cleaning(Settings):
    """How validated documents become sentences."""

    unicode: Literal["NFC", "NFKC"]
    min_document_words: PositiveInt
    near_duplicates: NearDuplicates


class Tokenizer(Settings):
    """A vocabulary learned on the training split of a corpus."""

    corpus: Name
    kind: Literal["wordpiece", "word", "spaces", "jieba"]
    vocabulary_size: PositiveInt
    min_frequency: PositiveInt
    lowercase: bool


class Variant(Settings):
    """A member of the family tree: a family with its own corpus, tokenizer and overrides. An ablation is a variant."""

    family: Name
    corpus: Name
    tokenizer: Name
    overrides: dict[str, Any] = {}


KnownFormat = Literal[
    "cola",
    "sst-2",
    "mrpc",
    "qqp",
    "sts-b",
    "mnli",
    "qnli",
    "rte",
    "wnli",
    "ax",
    "snli",
    "sst-5",
    "squad-1.1",
    "squad-2.0",
    "conll-2003",
    "swag",
    "hellaswag",
]


class OfflineTask(Settings):
    """A task that the project makes from a corpus; named for what it is, never reported as a public benchmark."""

    kind: Literal["offline"]
    recipe: Name
    corpus: Name
    sources: list[Name] = Field(min_length=1)  # of that corpus; the passages come from their documents
    examples: dict[Literal["train", "validation", "test"], PositiveInt]


class TaskFiles(Settings):
    """A task's original files, one or more a split, in a known format.

    A file that several splits name is divided between them by hash, in the corpora's `splits` or in its own `shares`.
    `duplicates: keep` leaves a published set whole: rows that repeat others are counted, but stay. `misplaced: move` puts an
    answer that is not where it is said to be to where it is.
    """

    kind: Literal["files"]
    format: Literal["tsv", "csv", "jsonl", "parquet", "squad", "conll"] | KnownFormat
    files: dict[Literal["train", "validation", "test"], list[str]]
    columns: dict[str, str | int | list[str | int]] = {}  # a list: columns that together are one list
    header: bool = True
    label_names: dict[str, str] = {}
    max_examples: dict[Literal["train", "validation", "test"], PositiveInt] = {}
    duplicates: Literal["quarantine", "keep"] = "quarantine"
    misplaced: Literal["quarantine", "move"] = "quarantine"
    shares: Splits | None = None
    sha256: dict[str, Sha256] = {}


class TaskHub(Settings):
    """A task from the Hugging Face Hub, in parquet, at a fixed revision."""

    kind: Literal["hub"]
    dataset: str
    config: str | None = None
    revision: str
    splits: dict[Literal["train", "validation", "test"], str]
    format: KnownFormat | None = None  # a known task: its columns and the names of its labels
    columns: dict[str, str | int | list[str | int]] = {}
    duplicates: Literal["quarantine", "keep"] = "quarantine"


TaskSource = Annotated[OfflineTask | TaskFiles | TaskHub, Field(discriminator="kind")]


class Task(Settings):
    """A row of data: what is asked, of what, and how an answer is scored."""

    kind: Literal["classification", "regression", "span", "tagging", "choice"]
    source: TaskSource
    labels: list[str]
    metric: Literal["accuracy", "matthews", "f1", "em", "entity_f1", "spearman", "pearson"]
    max_length: PositiveInt
    stride: int = Field(default=0, ge=0)
    max_answer_length: PositiveInt = 30
    unanswerable: bool = (
        False  # span: whether there may be questions without an answer; a threshold is chosen on validation
    )
    document_context: bool = False  # tagging: whether a row is read with what surrounds it in its document
    symmetric: bool = False  # of two texts: whether they may change places, as in similarity
    score_range: tuple[float, float] | None = None  # regression: the lowest and the highest score that there can be
    tuned_on: Name | None = None  # another task, whose models are tested on this one's test split too

    @model_validator(mode="after")
    def _options_fit_the_kind(self) -> "Task":
        if self.symmetric and self.kind not in ("classification", "regression"):
            raise ValueError(f"symmetric: a {self.kind} task has no two texts that may change places")
        if self.document_context and self.kind != "tagging":
            raise ValueError(f"document_context: a {self.kind} task has no rows that are read with their neighbours")
        if self.unanswerable and self.kind != "span":
            raise ValueError(f"unanswerable: a {self.kind} task asks no questions that may have no answer")
        return self

    @model_validator(mode="after")
    def _labels_fit_the_kind(self) -> "Task":
        if self.kind == "classification" and len(self.labels) < 2:
            raise ValueError("a classification task needs at least two labels")
        if self.kind == "choice" and len(self.labels) < 2:
            raise ValueError("a choice task's labels name its choices, at least two, in their order")
        if self.kind == "tagging" and "O" not in self.labels:
            raise ValueError("a tagging task's labels are BIO tags and include 'O'")
        if self.kind in ("span", "regression") and self.labels:
            raise ValueError(f"a {self.kind} task has no labels: write []")
        if (self.kind == "regression") != (self.score_range is not None):
            raise ValueError(
                "score_range: a regression task needs the lowest and the highest score, and no other has any"
            )
        if self.score_range is not None and not -math.inf < self.score_range[0] < self.score_range[1] < math.inf:
            raise ValueError("score_range: two numbers, the lower first")
        allowed = {
            "classification": {"accuracy", "matthews", "f1"},
            "regression": {"spearman", "pearson"},
            "span": {"f1", "em"},
            "tagging": {"entity_f1"},
            "choice": {"accuracy"},
        }
        if self.metric not in allowed[self.kind]:
            raise ValueError(f"metric {self.metric!r} does not score a {self.kind} task")
        return self


class OfflineProbe(Settings):
    """Questions that the project makes from the words of its stories; named for what they are."""

    kind: Literal["offline"]
    recipe: Name
    questions: PositiveInt


class ProbeBundled(Settings):
    """A public set of questions that an installed package carries: works offline."""

    kind: Literal["bundled"]
    name: Literal["wordsim353", "simlex999", "google-analogies"]


class ProbeFiles(Settings):
    """Original files of questions: files, folders and patterns.

    One outside `data/external` needs its sha256, or a change of it would go unseen; a folder or pattern one over its files.
    """

    kind: Literal["files"]
    paths: list[str] = Field(min_length=1)
    exclude: list[str] = []  # patterns of names of files that lie in a folder and are no questions
    max_pairs: PositiveInt | None = None  # minimal pairs: of each paradigm, those with the lowest hashes
    sha256: dict[str, Sha256] = {}


class Probe(Settings):
    """What no training prepares for: how alike two words are, A : B = C : ?, or which of two sentences is right."""

    kind: Literal["similarity", "analogy", "minimal-pairs"]
    source: Annotated[OfflineProbe | ProbeBundled | ProbeFiles, Field(discriminator="kind")]

    @model_validator(mode="after")
    def _only_pairs_have_paradigms(self) -> "Probe":
        if isinstance(self.source, ProbeFiles) and self.source.max_pairs and self.kind != "minimal-pairs":
            raise ValueError(f"source.max_pairs: a {self.kind} probe has no pairs of sentences")
        return self


class Pair(Settings):
    """One fine-tuning: a variant on a task. `family` repeats the variant's, for the stage's code deps in `dvc.yaml`."""

    variant: Name
    family: Name
    task: Name


class Grid(Settings):
    """Values to choose from: each seed is tuned at every point, and the best on the validation rows is kept."""

    epochs: list[PositiveInt] = Field(min_length=1)
    batch_size: list[PositiveInt] = Field(min_length=1)
    learning_rate: list[Annotated[float, Field(gt=0)]] = Field(min_length=1)


class Transfer(Settings):
    """A variant that is another one, fine-tuned on a task first (Phang et al. 2018): seed by seed, its pairs start from there.

    `variant` and `family` repeat those of the pair, for the stage's deps in `dvc.yaml`.
    """

    pair: Name
    variant: Name
    family: Name


class Finetuning(Settings):
    """One protocol for every variant and task: a single value of each setting, or a grid of three of them around these."""

    seeds: list[int] = Field(min_length=1)
    epochs: PositiveInt
    batch_size: PositiveInt
    learning_rate: float = Field(gt=0)
    grid: Grid | None  # null: the three above are all that is tried
    weight_decay: float = Field(ge=0)
    warmup_share: Share
    max_gradient_norm: float = Field(gt=0)
    threads: PositiveInt

    @property
    def points(self) -> list["Finetuning"]:
        """What is tried, in order: the points of the grid, each as settings without one; or these alone."""
        if self.grid is None:
            return [self]
        axes = itertools.product(self.grid.batch_size, self.grid.learning_rate, self.grid.epochs)
        names = ("batch_size", "learning_rate", "epochs")
        return [self.model_copy(update={"grid": None, **dict(zip(names, point, strict=True))}) for point in axes]

    @model_validator(mode="after")
    def _grid_is_around_the_single_values(self) -> "Finetuning":
        for name, values in self.grid or ():
            single = getattr(self, name)
            if single not in values or len(set(values)) < len(values):
                raise ValueError(f"grid.{name}: give {single}, the single value, and others, each once")
        return self


class Evaluation(Settings):
    """How scores get their intervals, and what the table says of a task beside them."""

    confidence: Share
    bootstrap_draws: PositiveInt
    bootstrap_seed: int
    pseudo_perplexity_sentences: PositiveInt
    notes: dict[Name, str] = {}  # of a task or probe: how its protocol differs from the usual; changes no result


class Release(Settings):
    """What the gate asks of a challenger."""

    floors: dict[Name, float]
    beat_majority: bool
    max_regression: float = Field(ge=0)


class Params(Settings):
    """The whole of `params.yaml`."""

    seed: int
    splits: Splits
    corpora: dict[Name, Corpus] = Field(min_length=1)
    validation: Validation
    cleaning: Cleaning
    tokenizers: dict[Name, Tokenizer]
    families: dict[Name, dict[str, Any]]
    variants: dict[Name, Variant]
    transfers: dict[Name, Transfer]
    tasks: dict[Name, Task]
    probes: dict[Name, Probe]
    finetuning: Finetuning
    pairs: dict[Name, Pair]
    evaluation: Evaluation
    release: Release

    def family_settings(self, variant: str) -> dict[str, Any]:
        """A variant's settings: its family's, with its overrides on top."""
        return {**self.families[self.variants[variant].family], **self.variants[variant].overrides}

    @property
    def families_of(self) -> dict[str, str]:
        """The family of every variant, then of every transfer."""
        return {name: one.family for group in (self.variants, self.transfers) for name, one in group.items()}

    def pretrained_as(self, name: str) -> str:
        """The variant whose pretraining a pair's variant has: itself, or the one that a transfer went on from."""
        return self.transfers[name].variant if name in self.transfers else name

    @model_validator(mode="after")
    def _names_exist(self) -> "Params":
        for name, tokenizer in self.tokenizers.items():
            _known(f"tokenizers.{name}.corpus", tokenizer.corpus, self.corpora)
        for name, variant in self.variants.items():
            _known(f"variants.{name}.family", variant.family, self.families)
            _known(f"variants.{name}.corpus", variant.corpus, self.corpora)
            _known(f"variants.{name}.tokenizer", variant.tokenizer, self.tokenizers)
            if self.tokenizers[variant.tokenizer].corpus != variant.corpus:
                raise ValueError(f"variants.{name}: tokenizer {variant.tokenizer!r} was learned on another corpus")
        for name, task in self.tasks.items():
            self._check_tuned_on(name, task)
            if isinstance(task.source, OfflineTask):
                _known(f"tasks.{name}.source.corpus", task.source.corpus, self.corpora)
                if self.corpora[task.source.corpus].kind != "documents":
                    raise ValueError(f"tasks.{name}.source.corpus: a task is made from documents, not from pairs")
                for source in task.source.sources:
                    _known(f"tasks.{name}.source.sources", source, self.corpora[task.source.corpus].sources)
        for name, pair in self.pairs.items():
            self._check_pair(name, pair)
        for name in self.release.floors:
            _known("release.floors", name, self.tasks)
        return self

    @model_validator(mode="after")
    def _notes_are_of_columns(self) -> "Params":
        for name in self.evaluation.notes:
            _known("evaluation.notes", name, {**self.tasks, **self.probes})
        return self

    def _check_tuned_on(self, name: str, task: Task) -> None:
        if task.tuned_on is None:
            return
        _known(f"tasks.{name}.tuned_on", task.tuned_on, self.tasks)
        other = self.tasks[task.tuned_on]
        if (other.kind, other.labels) != (task.kind, task.labels):
            raise ValueError(f"tasks.{name}.tuned_on: {task.tuned_on!r} is of another kind or has other labels")
        if other.tuned_on is not None or any(pair.task == name for pair in self.pairs.values()):
            raise ValueError(
                f"tasks.{name}.tuned_on: name a task with models of its own, and fine-tune none on {name!r}"
            )

    def _check_pair(self, name: str, pair: Pair) -> None:
        _known(f"pairs.{name}.variant", pair.variant, self.families_of)
        _known(f"pairs.{name}.task", pair.task, self.tasks)
        if name != f"{pair.variant}-{pair.task}":
            raise ValueError(f"pairs.{name}: the key must be '{pair.variant}-{pair.task}'")
        family = self.families_of[pair.variant]
        if pair.family != family:
            raise ValueError(f"pairs.{name}.family: variant {pair.variant!r} is of family {family!r}")

    @model_validator(mode="after")
    def _transfers_start_from_pairs(self) -> "Params":
        for name, transfer in self.transfers.items():
            self._check_transfer(name, transfer)
        return self

    def _check_transfer(self, name: str, transfer: Transfer) -> None:
        """Refuse one that starts from nothing, or from a transfer: with that, cycles too."""
        if name in self.variants:
            raise ValueError(f"transfers.{name}: a variant has this name; choose another")
        _known(f"transfers.{name}.pair", transfer.pair, self.pairs)
        pair = self.pairs[transfer.pair]
        if pair.variant in self.transfers:
            raise ValueError(
                f"transfers.{name}.pair: {transfer.pair!r} is itself tuned from a transfer; name a pair of a variant that"
                f" was pretrained: {', '.join(sorted(self.variants))}"
            )
        for key in ("variant", "family"):
            if getattr(transfer, key) != getattr(pair, key):
                raise ValueError(f"transfers.{name}.{key}: that of {transfer.pair!r} is {getattr(pair, key)!r}")


def load_params(path: Path) -> Params:
    """Read and check `params.yaml`; an error names the key and what is wrong with its value."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run from the project's top folder") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not valid UTF-8 at byte {error.start} of the file") from None
    except yaml.YAMLError as error:
        raise SettingsError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    return parse_settings(Params, values, str(path))


def parse_settings(model: type[T], values: object, where: str) -> T:
    """Check `values` against a settings type; an error is one line that names the key."""
    try:
        return model.model_validate(values)
    except PydanticValidationError as error:
        raise SettingsError(f"{where}: {_explain(error)}") from None


def resolve_path(path: str, environment: Mapping[str, str] | None = None) -> Path:
    """A path of `params.yaml`; `$STEMMA_DATA/…` lies in the folder that this variable names."""
    variable = "$STEMMA_DATA/"
    if not path.startswith(variable):
        return Path(path)
    folder = (environment if environment is not None else os.environ).get("STEMMA_DATA")
    if not folder:
        raise InputError(f"{path}: set STEMMA_DATA to the folder that holds your copies of the original data sets")
    return Path(folder) / path.removeprefix(variable)


def _known(key: str, name: str, names: Mapping[str, object]) -> None:
    if name not in names:
        raise ValueError(f"{key}: no {name!r} among {', '.join(sorted(names)) or 'none'}")


def _explain(error: PydanticValidationError) -> str:
    problems = []
    for detail in error.errors():
        key = ".".join(" ".join(str(part).split()) for part in detail["loc"] if part != "[key]")
        message = "unknown key" if detail["type"] == "extra_forbidden" else detail["msg"].removeprefix("Value error, ")
        problems.append(f"{key}: {message}" if key else message)
    return "; ".join(problems)
