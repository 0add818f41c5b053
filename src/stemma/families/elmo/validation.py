"""How well ELMo's language models predict the validation split, by the sentence and as running text."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from stemma.data.batches import Ragged
from stemma.data.token_store import TokenStore
from stemma.families.elmo.likelihood import document_nats, sentence_nats
from stemma.families.elmo.network import Elmo
from stemma.progress import Progress
from stemma.text.symbols import Symbols
from stemma.training.figures import rounded

__all__ = ["validate"]

_BLOCK: Final = 1 << 15  # tokens between two reports of progress, or one document if that has more


def validate(network: Elmo, store: TokenStore, symbols: Symbols, progress: Progress) -> dict[str, float]:
    """Perplexity a token (each end of a sentence is one) and bits a byte on documents that were not trained on; none, no figures.

    Of the forward model on sentences by themselves, as for the other language models; perplexity also of the backward model, and
    of the forward one on sentences behind those before them.
    """
    if not store.num_sentences:
        return {}
    network.eval()
    num_predictions = store.num_tokens + store.num_sentences
    progress.start("validating", num_predictions, "tokens")
    parts, done = [], 0
    with torch.inference_mode():
        for sentences, bounds in _blocks(store):
            forward, backward = sentence_nats(network, sentences, symbols).sum(axis=1)
            running = document_nats(network, sentences, bounds, symbols)[0].sum()
            parts.append((forward, backward, running))
            done += len(sentences.values) + len(sentences)
            progress.update(done)
    forward, backward, running = (math.fsum(one) for one in zip(*parts, strict=True))
    return {
        "validation_perplexity": rounded(math.exp(forward / num_predictions)),
        "validation_bits_per_byte": rounded(forward / math.log(2) / store.num_bytes),
        "validation_backward_perplexity": rounded(math.exp(backward / num_predictions)),
        "validation_running_perplexity": rounded(math.exp(running / num_predictions)),
    }


def _blocks(store: TokenStore) -> Iterator[tuple[Ragged, npt.NDArray[np.int64]]]:
    """Some documents at a time: their sentences, and which of those each document begins with."""
    for shard in store.shards():
        documents, offsets = np.asarray(shard.documents), np.asarray(shard.sentences)
        starts, first = offsets[documents], 0
        while first < len(documents) - 1:
            last = max(first + 1, int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1)
            sentences = offsets[documents[first] : documents[last] + 1]
            ids = np.asarray(shard.ids[starts[first] : starts[last]], np.int64)
            yield Ragged(ids, sentences - starts[first]), documents[first : last + 1] - documents[first]
            first = last
