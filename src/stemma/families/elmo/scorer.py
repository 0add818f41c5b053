"""Log P(sentence) by ELMo's forward language model, and by its backward one beside it.

Each is a probability by itself: of all sentences it gives 1 in all. Their mean is none, so the forward model, which compares with
others that read from left to right, is the score.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from stemma.data.batches import Ragged
from stemma.families.elmo.likelihood import running_nats, sentence_nats
from stemma.families.elmo.network import load_network
from stemma.files import verify_manifest
from stemma.protocols import Scores
from stemma.text.symbols import read_symbols
from stemma.text.vocabulary import load_tokenizer
from stemma.training.loop import deterministic

__all__ = ["ElmoScorer", "load_scorer"]


class ElmoScorer:
    """Scores sentences, each by itself unless they are said to follow each other."""

    pseudo = False

    def __init__(self, folder: Path) -> None:
        self.network = load_network(folder)
        self._symbols = read_symbols(folder)
        self._tokenizer = load_tokenizer(folder)

    def score(self, sentences: Sequence[str], *, running: bool = False) -> Scores:
        """Minus the sum of log P(token | what was read before it), a sentence, its end included.

        With `running` the sentences are one text, and the state goes on from each to the next, as the literature measures it.
        """
        encodings = self._tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
        tokens = Ragged.from_rows([encoding.ids for encoding in encodings], np.int64)
        nats = np.zeros((2, 0))
        if len(tokens):
            with deterministic(threads=1), torch.inference_mode():
                nats = (running_nats if running else sentence_nats)(self.network, tokens, self._symbols)
        unknown = np.zeros(len(tokens), np.int64)
        owners = np.repeat(np.arange(len(tokens)), tokens.lengths)
        np.add.at(unknown, owners, self._symbols.readable(tokens.values) == self._symbols.unknown)
        return Scores(
            nats=nats[0], num_predictions=tokens.lengths + 1, num_unknown=unknown, others={"backward": nats[1]}
        )


def load_scorer(folder: Path) -> ElmoScorer:
    """Load what `pretrain` wrote, once its bytes are found whole."""
    verify_manifest(folder)
    return ElmoScorer(folder)
