"""Log P(sentence) by ELMo's forward language model, and by its backward one beside it.

Each is a probability by itself: of all sentences it gives 1 in all. Their mean is none, so the forward model, which compares with
others that read from left to right, is the score.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from stemma.data.batches import Ragged
from stemma.families.elmo.likelihood import document_nats
from stemma.families.elmo.network import load_network
from stemma.files import verify_manifest
from stemma.protocols import Scores
from stemma.text.symbols import read_symbols
from stemma.text.vocabulary import load_tokenizer
from stemma.training.loop import deterministic

__all__ = ["ElmoScorer", "load_scorer"]


class ElmoScorer:
    """Scores sentences, each by itself or one after the other."""

    pseudo = False

    def __init__(self, folder: Path) -> None:
        self.network = load_network(folder)
        self._symbols = read_symbols(folder)
        self._tokenizer = load_tokenizer(folder)

    def score(self, sentences: Sequence[str]) -> Scores:
        """Minus the sum of log P(token | what was read before it), a sentence, its end included."""
        return self.score_running([[sentence] for sentence in sentences])

    def score_running(self, documents: Sequence[Sequence[str]]) -> Scores:
        """The same of whole documents, in which either model goes on from a sentence to the next that it reads."""
        sentences = [sentence for document in documents for sentence in document]
        encodings = self._tokenizer.encode_batch_fast(sentences, add_special_tokens=False)
        tokens = Ragged.from_rows([encoding.ids for encoding in encodings], np.int64)
        bounds = np.cumsum([0, *map(len, documents)])
        with deterministic(threads=1), torch.inference_mode():
            forward, backward = document_nats(self.network, tokens, bounds, self._symbols)
        unknown = np.append(0, np.cumsum(self._symbols.readable(tokens.values) == self._symbols.unknown))
        places = tokens.offsets[bounds]
        return Scores(
            nats=forward,
            num_predictions=np.diff(places) + np.diff(bounds),
            num_unknown=np.diff(unknown[places]),
            others={"backward": backward},
        )


def load_scorer(folder: Path) -> ElmoScorer:
    """Load what `pretrain` wrote, once its bytes are found whole."""
    verify_manifest(folder)
    return ElmoScorer(folder)
