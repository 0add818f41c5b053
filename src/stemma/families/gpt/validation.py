"""How well GPT predicts the validation split, by the sentence and as running text."""

import math
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import numpy as np
import torch
from torch import nn

from stemma.data.token_store import TokenStore
from stemma.families.gpt.scorer import score_texts
from stemma.families.gpt.text import Text
from stemma.progress import Progress
from stemma.protocols import Scores
from stemma.text.symbols import Symbols
from stemma.training.figures import rounded

__all__ = ["validate"]

_AT_ONCE: Final = 1000  # sentences, or documents


def validate(network: nn.Module, store: TokenStore, symbols: Symbols, progress: Progress) -> dict[str, float]:
    """Perplexity a token (each `</s>` is one) and bits a byte on documents that were not trained on; none, no figures.

    Of sentences by themselves, as for the other language models; perplexity also of sentences behind those before them.
    """
    if not store.num_sentences:
        return {}
    network.eval()
    with torch.inference_mode():
        alone = _measure(network, store, symbols, progress, _sentences)
        running = _measure(network, store, symbols, progress, _documents)
    predictions = store.num_tokens + store.num_sentences
    return {
        "validation_perplexity": rounded(math.exp(alone.nats.sum() / predictions)),
        "validation_bits_per_byte": rounded(alone.nats.sum() / math.log(2) / store.num_bytes),
        "validation_unknown_rate": rounded(alone.num_unknown.sum() / predictions),
        "validation_running_perplexity": rounded(math.exp(running.nats.sum() / predictions)),
    }


def _measure(
    network: nn.Module,
    store: TokenStore,
    symbols: Symbols,
    progress: Progress,
    read: Callable[[TokenStore], Iterator[Text]],
) -> Scores:
    progress.start("validating", store.num_tokens + store.num_sentences, "tokens")
    texts, parts, done = read(store), [], 0
    while some := list(islice(texts, _AT_ONCE)):
        scores = score_texts(network, some, symbols)
        parts.append([math.fsum(scores.nats), scores.num_predictions.sum(), scores.num_unknown.sum()])
        done += int(parts[-1][1])
        progress.update(done)
    nats, predictions, unknown = np.array(parts).T
    return Scores(nats=nats, num_predictions=predictions.astype(np.int64), num_unknown=unknown.astype(np.int64))


def _sentences(store: TokenStore) -> Iterator[Text]:
    for shard in store.shards():
        for first, last in zip(shard.sentences[:-1].tolist(), shard.sentences[1:].tolist(), strict=True):
            yield Text.of([shard.ids[first:last]])


def _documents(store: TokenStore) -> Iterator[Text]:
    for shard in store.shards():
        for first, last in zip(shard.documents[:-1].tolist(), shard.documents[1:].tolist(), strict=True):
            bounds = shard.sentences[first : last + 1]
            ids = shard.ids[bounds[0] : bounds[-1]]
            yield Text(ids=ids, sentences=bounds - bounds[0], documents=np.array([0, last - first]))
