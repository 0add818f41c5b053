"""N-gram models that answer tasks. Nothing is drawn at random, so that all seeds give the same.

Classification: an n-gram model of each class's texts (see `class_counts`) and P(class); the most probable class is the answer.
Of two texts each is read by itself: what one has to do with the other, such a model can't see.
Choice: the pretrained model's log P(choice | context), the mean over the choice's words and the end; nothing is learned.
"""

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from safetensors.numpy import load_file, save_file
from torch import Tensor, nn

from stemma.errors import InputError
from stemma.families.ngram.class_counts import ClassCounts, Floats, count_classes
from stemma.families.ngram.model import MODEL_FILES, NgramModel
from stemma.families.ngram.windows import Ids, Symbols, pad, windows
from stemma.files import atomic_path, read_json, write_json
from stemma.protocols import HeadKind
from stemma.text.vocabulary import load_tokenizer

__all__ = ["ChoiceScorer", "ClassNgrams", "NgramEncoder", "load_tuned"]

_COUNTS: Final = "classes.safetensors"
_HEAD: Final = "head.json"
_TOKENIZER_FILES: Final = ("tokenizer.json", "tokenizer_config.json")
_SMALLEST: Final = 1e-12  # of P(w): a word that the pretrained model holds for impossible is not, in a task


@dataclass(frozen=True)
class _Sentences:
    """Sentences of a batch, end to end."""

    columns: list[Ids]  # windows of every prediction, the last word first
    rows: Ids  # (predictions,): the row that each belongs to
    second: npt.NDArray[np.bool_]  # (predictions,): whether it is of the second text


def _read(model: "_Reader", tensors: Mapping[str, Tensor], *, joined: bool) -> _Sentences:
    """The texts of a batch as sentences: one a text, or one a row with its two texts in a row."""
    ids, types = tensors["input_ids"].numpy(), tensors["token_type_ids"].numpy()
    words = (tensors["attention_mask"].numpy() == 1) & ~np.isin(ids, model.marks)
    rows, places = np.nonzero(words)
    second = types[rows, places] == 1
    number = (
        rows if joined else 2 * rows + second
    )  # which sentence a word is of; without words there is none, but its end
    present = np.ones(len(ids) * (1 if joined else 2), bool)
    if not joined:
        present[1::2] = (types == 1).any(axis=1)
    lengths = np.bincount(number, minlength=len(present))[present]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    padded, starts = pad(model.symbols.readable(ids[rows, places]), offsets, model.symbols)
    predicted = np.ones(len(padded), bool)
    predicted[starts] = False
    sentences = np.repeat(np.flatnonzero(present), lengths + 1)  # each has an end
    at_end = np.zeros(len(sentences), bool)
    at_end[np.cumsum(lengths + 1) - 1] = True
    of_word = np.zeros(len(sentences), bool)
    of_word[~at_end] = second
    columns = windows(padded, starts, model.order, model.symbols.size)
    return _Sentences(
        columns=[column[predicted] for column in columns],
        rows=sentences if joined else sentences // 2,
        second=of_word | at_end,
    )


class _Reader(nn.Module):
    """What both kinds of answers need to know of the pretrained model."""

    def __init__(
        self, kind: HeadKind, labels: Sequence[str], symbols: Symbols, order: int, marks: Sequence[int]
    ) -> None:
        super().__init__()
        self.kind, self.labels, self.marks = kind, list(labels), list(marks)
        self.symbols, self.order = symbols, order


class ClassNgrams(_Reader):
    """A class's probability, given a text, by n-gram models of the texts of each."""

    def __init__(
        self,
        labels: Sequence[str],
        symbols: Symbols,
        order: int,
        marks: Sequence[int],
        *,
        unigrams: Floats,
        prior_count: float,
    ) -> None:
        super().__init__("classification", labels, symbols, order, marks)
        self.counts: ClassCounts | None = None
        self._unigrams, self.prior_count = unigrams, prior_count

    def count(self, batches: Iterable[Mapping[str, Tensor]]) -> None:
        """Count the texts of each class."""
        columns: list[list[Ids]] = []
        classes: list[Ids] = []
        texts = np.zeros(len(self.labels), np.int64)
        for tensors in batches:
            read, targets = _read(self, tensors, joined=False), tensors["targets"].numpy()
            columns.append(read.columns)
            classes.append(targets[read.rows])
            texts += np.bincount(targets, minlength=len(self.labels))
        together = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
        self.counts = count_classes(
            together, np.concatenate(classes), texts, unigrams=self._unigrams, prior_count=self.prior_count
        )

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Sums log P(class) + log P(texts | class) (rows, classes)."""
        assert self.counts is not None, "counted before it is asked"
        tensors = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        read = _read(self, tensors, joined=False)
        result = np.repeat(self.counts.log_priors()[None], len(input_ids), axis=0)
        np.add.at(result, read.rows, self.counts.log_probabilities(read.columns))
        return torch.from_numpy(result)


class ChoiceScorer(_Reader):
    """How likely a choice is behind its context."""

    def __init__(self, labels: Sequence[str], model: NgramModel, marks: Sequence[int]) -> None:
        super().__init__("choice", labels, model.symbols, model.order, marks)
        self._model = model

    def count(self, batches: Iterable[Mapping[str, Tensor]]) -> None:
        """Learn nothing: the pretrained model knows what follows what."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """The mean log-probability of the second text's words and the end (rows, 1)."""
        tensors = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        read = _read(self, tensors, joined=True)
        logs = np.log(np.maximum(self._model.probabilities(read.columns), _SMALLEST))
        asked = read.second
        totals = np.bincount(read.rows[asked], logs[asked], minlength=len(input_ids))
        numbers = np.bincount(read.rows[asked], minlength=len(input_ids))
        return torch.from_numpy(totals / np.maximum(numbers, 1))[:, None]


class NgramEncoder:
    """A pretrained n-gram model for tasks to be put on."""

    max_length = sys.maxsize

    def __init__(self, folder: Path, prior_count: float) -> None:
        self._folder, self._prior_count = folder, prior_count
        self.tokenizer = load_tokenizer(folder)
        self._model = NgramModel.open(folder)

    def with_head(
        self,
        kind: HeadKind,
        labels: Sequence[str],
        *,
        seed: int,  # noqa: ARG002 - nothing is drawn
        symmetric: bool = False,  # noqa: ARG002 - it reads either text by itself
    ) -> nn.Module:
        """A model that has counted nothing yet."""
        if kind == "choice":
            return ChoiceScorer(labels, self._model, self._marks())
        if kind != "classification":
            raise InputError(f"an n-gram model can't be asked a {kind} task")
        symbols, order = self._model.symbols, self._model.order
        unigrams = _unigrams(self._model)
        return ClassNgrams(labels, symbols, order, self._marks(), unigrams=unigrams, prior_count=self._prior_count)

    def save(self, model: nn.Module, out: Path) -> None:
        """Write a model made by `with_head`: the counts of classes, or the pretrained model that scores choices."""
        assert isinstance(model, ClassNgrams | ChoiceScorer)
        about: dict[str, Any] = {"kind": model.kind, "labels": model.labels, "marks": model.marks}
        if isinstance(model, ClassNgrams):
            assert model.counts is not None
            about |= {"prior_count": model.prior_count, "order": model.order, "symbols": asdict(model.symbols)}
            with atomic_path(out / _COUNTS) as temporary:
                save_file({name: np.ascontiguousarray(each) for name, each in model.counts.arrays().items()}, temporary)
        for name in (*_TOKENIZER_FILES, *(MODEL_FILES if isinstance(model, ChoiceScorer) else ())):
            if (self._folder / name).is_file():
                shutil.copyfile(self._folder / name, out / name)
        write_json(out / _HEAD, about)

    def _marks(self) -> list[int]:
        found = (self.tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        return [mark for mark in found if mark is not None]


def load_tuned(folder: Path, kind: HeadKind) -> nn.Module:
    """Read back what `NgramEncoder.save` wrote."""
    if not (folder / _HEAD).is_file():
        raise InputError(f"{folder}: no n-gram model of a task here ({_HEAD} is missing); run its stage")
    about = read_json(folder / _HEAD)
    if about["kind"] != kind:
        raise InputError(f"{folder / _HEAD}: made for {about['kind']}, not for {kind}")
    if kind == "choice":
        return ChoiceScorer(about["labels"], NgramModel.open(folder), about["marks"])
    counts = ClassCounts.from_arrays(load_file(folder / _COUNTS), about["prior_count"])
    symbols = Symbols(**{**about["symbols"], "silent": tuple(about["symbols"]["silent"])})
    model = ClassNgrams(
        about["labels"],
        symbols,
        about["order"],
        about["marks"],
        unigrams=counts.unigrams,
        prior_count=about["prior_count"],
    )
    model.counts = counts
    return model


def _unigrams(model: NgramModel) -> Floats:
    """P(w) of what can be predicted, none of it 0."""
    likely = np.maximum(model.values("probabilities", 1).astype(np.float64), _SMALLEST) * model.symbols.events
    return np.asarray(likely / likely.sum())
