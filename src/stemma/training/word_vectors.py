"""Word vectors trained by gensim, an epoch at a time, so that a killed training goes on where its last epoch ended.

gensim's own `train` runs the same function for each epoch, which takes the epoch's number for the learning rate and two
numbers of the model's generator for all else that is random. So the arrays, that generator and the number are the whole
state, and the result has the bytes of one call of `train`. One thread: with more, gensim's result depends on their order.

Its functions are called directly: a model is never pickled, and an error inside a worker of `train` would leave it waiting.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field, PositiveInt, model_validator

from stemma.data.word_lines import WordLines
from stemma.errors import TrainingError
from stemma.progress import Progress
from stemma.text.vectors import Floats
from stemma.text.vocabulary import load_words
from stemma.training.checkpoint import Checkpoint, Checkpoints
from stemma.training.figures import rounded
from stemma.training.static_tasks import StaticTaskSettings
from stemma.training.tracker import Tracker

__all__ = ["VectorSettings", "VectorTraining", "fill_vocabulary", "gensim_seed", "number_words", "read_words"]

_RANDOM: Final = "random"  # the generator's numbers among a checkpoint's tensors


class VectorSettings(StaticTaskSettings):
    """What gensim's models have in common, and what tasks put on their vectors."""

    size: PositiveInt
    window: PositiveInt  # words to each side, at most
    negative: PositiveInt  # words drawn as noise for each prediction, for negative sampling
    noise_exponent: float  # noise is drawn by count to this power
    # The share of the text above which a word is dropped at times; from 0.5 on none is. Not 0: then gensim draws windows
    # from a generator that it never seeded, if there is no negative sampling.
    subsample: float = Field(gt=0, lt=1)
    epochs: PositiveInt
    learning_rate: float = Field(gt=0)  # falls in a line to
    min_learning_rate: float = Field(gt=0)

    @model_validator(mode="after")
    def _rate_falls(self) -> Self:
        if self.min_learning_rate > self.learning_rate:
            raise ValueError("min_learning_rate is above learning_rate")
        return self

    def gensim_arguments(self, seed: int) -> dict[str, Any]:
        """What a gensim model is made with: every word of the vocabulary counts, and one thread gives one result."""
        return {
            "vector_size": self.size,
            "negative": self.negative,
            "ns_exponent": self.noise_exponent,
            "window": self.window,
            "sample": self.subsample,
            "epochs": self.epochs,
            "alpha": self.learning_rate,
            "min_alpha": self.min_learning_rate,
            "seed": gensim_seed(seed),
            "min_count": 1,
            "workers": 1,
        }


@dataclass(kw_only=True)
class VectorTraining:
    """A gensim model in training; `advance` first goes back to the newest whole checkpoint."""

    model: Any  # gensim's Word2Vec or FastText, with its vocabulary
    arrays: Mapping[str, Floats]  # what an epoch changes in place
    run_epoch: Callable[
        [int], tuple[int, int, int]
    ]  # trains one; gives the lines, the words trained on, the words read
    checkpoints: Checkpoints
    tracker: Tracker
    progress: Progress
    clock: Callable[[], float] = time.monotonic
    epoch: int = 0
    num_words_read: int = 0
    num_words_trained: int = 0  # without the frequent ones that were dropped
    curve: list[dict[str, float]] = field(default_factory=list)

    def advance(self, epochs: int, loss: Callable[[], float] | None) -> None:
        """Train to the end of the last of `epochs`; `loss` is asked after each. None says that there are no windows."""
        if loss is None:
            raise TrainingError("no two words stand together in the training text; add longer sentences to the corpus")
        if checkpoint := self.checkpoints.load_latest():
            self._restore(checkpoint)
        self.progress.start("training", epochs, "epochs")
        while self.epoch < epochs:
            begun = self.clock()
            _, trained, read = self.run_epoch(self.epoch)
            speed = read / max(self.clock() - begun, 1e-9)
            self.epoch += 1
            self.num_words_trained += trained
            self.num_words_read += read
            self._record(loss(), speed)
            self._save()
            self.progress.update(self.epoch, {"loss": self.curve[-1]["loss"], "tokens_per_second": speed})

    def _record(self, loss: float, tokens_per_second: float) -> None:
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss is {loss} after epoch {self.epoch}; the checkpoint before it is kept: lower learning_rate"
            )
        self.curve.append({"step": self.epoch, "loss": rounded(loss)})
        self.tracker.log_metrics({"loss": loss, "tokens_per_second": tokens_per_second}, self.epoch)

    def _save(self) -> None:
        _, numbers, position, *_ = self.model.random.get_state()
        tensors = {name: torch.from_numpy(array) for name, array in self.arrays.items()}
        tensors[_RANDOM] = torch.from_numpy(numbers.astype(np.int64))
        state = {
            "random_position": position,
            "curve": self.curve,
            "num_words_read": self.num_words_read,
            "num_words_trained": self.num_words_trained,
        }
        self.checkpoints.save(self.epoch, tensors, state)

    def _restore(self, checkpoint: Checkpoint) -> None:
        tensors, state = checkpoint.tensors, checkpoint.state
        self.epoch, self.curve = checkpoint.step, state["curve"]
        self.num_words_read, self.num_words_trained = state["num_words_read"], state["num_words_trained"]
        for name, array in self.arrays.items():
            array[:] = tensors[name].numpy()
        self.model.random.set_state(("MT19937", tensors[_RANDOM].numpy().astype(np.uint32), state["random_position"]))


def read_words(tokenizer_dir: Path) -> list[str | None]:
    """The word of every id of a tokenizer, none for those of special tokens."""
    first, words = load_words(tokenizer_dir)
    return [*[None] * first, *words]


def fill_vocabulary(model: Any, lines: WordLines) -> None:
    """Give a gensim model the words that it would have found itself, word by word, in the lines."""
    if len(lines.words) < 2:
        raise TrainingError(
            f"{len(lines.words)} of the tokenizer's words in the training text, where two are needed; add text to the corpus"
        )
    model.build_vocab_from_freq(dict(zip(lines.words, lines.counts, strict=True)), corpus_count=lines.num_lines)


def number_words(model: Any, vocabulary: Sequence[str | None]) -> npt.NDArray[np.int64]:
    """The row of a gensim model for every id of a tokenizer, -1 for those that have none."""
    return np.array([model.wv.key_to_index.get(word, -1) for word in vocabulary])


def gensim_seed(seed: int) -> int:
    """A seed in the range of numpy's old generator, which gensim draws from."""
    return seed % 2**32
