"""Vectors by counting (Levy, Goldberg and Dagan 2015): what stands near a word, as a short vector.

The counts of a window become positive pointwise mutual information; of that matrix the first singular vectors U are kept,
each times its singular value to a power: U S ** p. There is nothing to train and no text is seen twice. Left out on purpose:
adding context vectors, and dynamic windows.
"""

from typing import Final

import numpy as np
from pydantic import Field, PositiveInt
from scipy.sparse import csr_array

from stemma.config import Share
from stemma.data.cooccurrences import MAX_WINDOW, Weighting, count_stored
from stemma.data.token_store import TokenStore
from stemma.errors import TrainingError
from stemma.families.base import Family, Pretraining
from stemma.families.cooccurrence.factorisation import Decomposition, decompose, positive_mutual_information
from stemma.text.vectors import WordVectors, load_model_vectors, save_vectors
from stemma.text.vocabulary import load_words
from stemma.training.static_tasks import StaticTaskSettings, load_static_encoder, load_static_tuned, save_task_settings

__all__ = ["FAMILY", "CooccurrenceSettings"]


class CooccurrenceSettings(StaticTaskSettings):
    """What is counted, what becomes of the counts, and what tasks put on the vectors."""

    window: int = Field(ge=1, le=MAX_WINDOW)  # words to either side
    weighting: Weighting
    smoothing: Share  # the power of contexts' counts; 1 for none
    shift: float = Field(ge=1)  # how much likelier than chance a pair must be; 1 for none
    size: PositiveInt  # numbers a vector
    singular_value_power: Share  # 0: all dimensions count alike; 1: as much as they explain


def _pretrain(job: Pretraining[CooccurrenceSettings]) -> dict[str, float]:
    """Count, weigh, decompose and write the vectors."""
    settings = job.settings
    first_word, words = load_words(job.tokenizer)
    counts = count_stored(
        job.tokens / "train",
        job.scratch / "cooccurrences",
        first_word=first_word,
        num_words=len(words),
        window=job.settings.window,
        weighting=job.settings.weighting,
        progress=job.progress,
    )
    matrix = positive_mutual_information(counts, smoothing=settings.smoothing, shift=settings.shift)
    found = _decompose(matrix, job)
    vectors = found.vectors * found.values**settings.singular_value_power
    save_vectors(WordVectors(words, vectors.astype(np.float32)), job.out)
    save_task_settings(settings, job.out)
    metrics = {
        "vocabulary_size": len(words),
        "pairs": counts.num_entries,
        "positive_pairs": int(matrix.nnz),
        "explained_share": float(f"{(found.values**2).sum() / (matrix.data**2).sum():.10g}"),  # of the sum of squares
        "tokens": TokenStore.open(job.tokens / "train").num_tokens,
        "parameters": vectors.size,
        "flops": 2 * int(matrix.nnz) * found.num_products,  # the products of Lanczos' method alone
    }
    job.tracker.log_metrics(metrics, 0)
    return metrics


def _decompose(matrix: csr_array, job: Pretraining[CooccurrenceSettings]) -> Decomposition:
    num_words, size = matrix.shape[0], job.settings.size
    if size >= num_words:
        raise TrainingError(f"size: {num_words} words have fewer than {size} dimensions; set size below {num_words}")
    if not matrix.nnz:
        raise TrainingError("shift: no two words stand together more often than that; lower it, or add text")
    job.progress.start("decomposing", size, "dimensions")
    found = decompose(matrix, size, job.seed)
    job.progress.update(size)
    return found


FAMILY: Final = Family(
    name="cooccurrence",
    params=CooccurrenceSettings,
    pretrain=_pretrain,
    steps=None,
    load_encoder=load_static_encoder,
    load_tuned=load_static_tuned,
    load_scorer=None,
    load_vectors=load_model_vectors,
)
