"""Log P(sentence) by GPT: each token from all before it, over the whole vocabulary.

A sentence is read as in pretraining, where every row of text begins with `<s>` and a sentence. One that is longer than a row is
read in rows that overlap by half, and so is a document whose sentences are each scored behind those before them.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from stemma.data.batches import Ragged
from stemma.families.gpt.network import hidden_states, load_network, nats, num_positions
from stemma.families.gpt.text import Text, measured_rows
from stemma.files import verify_manifest
from stemma.protocols import Scores
from stemma.text.symbols import Symbols, read_symbols
from stemma.text.vocabulary import load_tokenizer
from stemma.training.loop import deterministic

__all__ = ["GptScorer", "load_scorer", "score_texts"]

_TOKENS_PER_BATCH: Final = 4096


class GptScorer:
    """Scores sentences, each by itself or behind those before it."""

    pseudo = False

    def __init__(self, folder: Path) -> None:
        self.network = load_network(folder)
        self._symbols = read_symbols(folder)
        self._tokenizer = load_tokenizer(folder)

    def score(self, sentences: Sequence[str]) -> Scores:
        """Minus the sum of log P(token | the tokens before it), a sentence, `</s>` included."""
        return self._score(Text.of([ids]) for ids in self._encode(sentences))

    def score_running(self, documents: Sequence[Sequence[str]]) -> Scores:
        """The same of whole documents, in which a sentence follows those before it."""
        return self._score(Text.of(self._encode(document)) for document in documents)

    def _encode(self, sentences: Sequence[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def _score(self, texts: Iterable[Text]) -> Scores:
        with deterministic(threads=1), torch.inference_mode():
            return score_texts(self.network, texts, self._symbols)


def load_scorer(folder: Path) -> GptScorer:
    """Load what `pretrain` wrote, once its bytes are found whole."""
    verify_manifest(folder)
    return GptScorer(folder)


def score_texts(network: nn.Module, texts: Iterable[Text], symbols: Symbols) -> Scores:
    """Each text's figures; each begins anew."""
    rows, skips, owners, count = [], [], [], 0
    for owner, text in enumerate(texts):
        for row, skip in measured_rows(text, num_positions(network), symbols):
            rows.append(row)
            skips.append(skip)
            owners.append(owner)
        count = owner + 1
    totals, predictions, unknown = np.zeros(count), *np.zeros((2, count), np.int64)
    ragged, skipped, owned = Ragged.from_rows(rows, np.int64), np.array(skips), np.array(owners)
    order = np.argsort(ragged.lengths, kind="stable")  # rows of like length together: little padding
    for batch in _batches(order, ragged.lengths):
        ids = ragged.padded(batch, 0)
        width = int(ragged.lengths[batch].max()) - 1
        places = np.arange(width)
        asked = (places >= skipped[batch][:, None]) & (places < ragged.lengths[batch][:, None] - 1)
        row, place = np.nonzero(asked)
        words = ids[row, place + 1]
        surprise = _surprise(network, ids[:, :width], asked, words)
        np.add.at(totals, owned[batch][row], surprise)
        np.add.at(predictions, owned[batch][row], 1)
        np.add.at(unknown, owned[batch][row], words == symbols.unknown)
    return Scores(nats=totals, num_predictions=predictions, num_unknown=unknown)


def _batches(order: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Iterable[npt.NDArray[np.int64]]:
    start = 0
    while start < len(order):
        size = max(1, _TOKENS_PER_BATCH // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size


def _surprise(
    network: nn.Module, ids: npt.NDArray[np.int64], asked: npt.NDArray[np.bool_], words: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Minus log P of the words behind those tokens that are asked for."""
    hidden = hidden_states(network, torch.from_numpy(np.ascontiguousarray(ids)))
    features = hidden[torch.from_numpy(asked)]
    return nats(network, features, torch.from_numpy(words)).double().numpy()
