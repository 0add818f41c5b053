"""Log P(sentence) by a neural language model, exactly: no word is left out of the sum."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from stemma.data.batches import Ragged
from stemma.families.nnlm.network import NeuralModel, load_network
from stemma.families.nnlm.windows import Windows
from stemma.files import verify_manifest
from stemma.protocols import Scores
from stemma.text.symbols import read_symbols
from stemma.text.vocabulary import load_tokenizer
from stemma.training.loop import deterministic

__all__ = ["NeuralScorer", "load_scorer"]


class NeuralScorer:
    """Scores sentences, each by itself."""

    pseudo = False

    def __init__(self, folder: Path) -> None:
        self.network: NeuralModel = load_network(folder)
        self._symbols = read_symbols(folder)
        self._tokenizer = load_tokenizer(folder)

    def score(self, sentences: Sequence[str]) -> Scores:
        """Minus the sum of log P(word | the words before it), a sentence, `</s>` included."""
        encodings = self._tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
        tokens = Ragged.from_rows([encoding.ids for encoding in encodings], np.int64)
        if not len(tokens):
            return Scores(nats=np.zeros(0), num_predictions=np.zeros(0, np.int64), num_unknown=np.zeros(0, np.int64))
        windows = Windows.of(tokens.values, tokens.offsets, self._symbols, self.network.context)
        with deterministic(threads=1), torch.inference_mode():
            nats = self.network.surprise(windows)
        first = tokens.offsets[:-1] + np.arange(len(tokens))  # every sentence before has one `</s>`
        unknown = (windows.words == self._symbols.unknown).astype(np.int64)
        return Scores(
            nats=np.add.reduceat(nats, first),
            num_predictions=tokens.lengths + 1,
            num_unknown=np.add.reduceat(unknown, first),
        )


def load_scorer(folder: Path) -> NeuralScorer:
    """Load what `pretrain` wrote, once its bytes are found whole."""
    verify_manifest(folder)
    return NeuralScorer(folder)
