"""GloVe (Pennington et al. 2014): vectors whose products are the logarithms of how often words stand together.

The matrix of co-occurrences is counted once, in one pass over the text; training then goes over its entries and never
sees the text again. Exported are the sums of the word and the context vectors, as in the paper. Left out on purpose: updates pair
by pair, by threads that do not wait for each other, whose result no seed repeats; and validation by loss, whose
logarithms grow with the text: see the probes.
"""

from typing import Final

from pydantic import Field, PositiveInt

from stemma.data.cooccurrences import MAX_WINDOW, Cooccurrences, Weighting, count_stored
from stemma.data.token_store import TokenStore
from stemma.families.base import Family, Pretraining
from stemma.families.glove.objective import Objective
from stemma.families.glove.training import Plan, Training
from stemma.files import write_text
from stemma.text.vectors import WordVectors, load_model_vectors, save_vectors
from stemma.text.vocabulary import load_words
from stemma.training.checkpoint import Checkpoints
from stemma.training.static_tasks import StaticTaskSettings, load_static_encoder, load_static_tuned, save_task_settings

__all__ = ["FAMILY", "GloveSettings"]

_FLOPS_PER_NUMBER: Final = (
    6  # of a pair's two vectors: their product, and a gradient for each, an addition and a product each
)


class GloveSettings(StaticTaskSettings):
    """What is counted, how much a count weighs, the budget, and what tasks put on the vectors."""

    window: int = Field(ge=1, le=MAX_WINDOW)  # words to either side
    weighting: Weighting
    size: PositiveInt  # numbers a vector
    full_weight_count: float = Field(gt=0)  # co-occurrences from which on a pair weighs 1; the paper's x_max
    weight_exponent: float = Field(ge=0, le=1)  # how the weight rises up to there; the paper's α
    epochs: PositiveInt
    batch_size: PositiveInt  # pairs
    learning_rate: float = Field(gt=0)
    checkpoint_every: PositiveInt  # epochs


def _pretrain(job: Pretraining[GloveSettings]) -> dict[str, float]:
    """Count, train, and write the vectors and the curve."""
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
    training = _begin(job, counts)
    training.run()
    factors = training.factors
    save_vectors(WordVectors(words, factors.words + factors.contexts), job.out)
    save_task_settings(job.settings, job.out)
    lines = [f"{epoch},{loss!r}\n" for epoch, loss in enumerate(training.curve, start=1)]
    write_text(job.out / "curve.csv", "".join(["step,loss\n", *lines]))
    metrics = _describe(job.settings, counts, training.curve[-1]) | {
        "tokens": TokenStore.open(job.tokens / "train").num_tokens
    }
    job.tracker.log_metrics(metrics, training.epoch)
    return metrics


def _begin(job: Pretraining[GloveSettings], counts: Cooccurrences) -> Training:
    settings = job.settings
    objective = Objective(full_weight_count=settings.full_weight_count, weight_exponent=settings.weight_exponent)
    plan = Plan(
        size=settings.size,
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        seed=job.seed,
        checkpoint_every=settings.checkpoint_every,
    )
    return Training(counts, objective, plan, Checkpoints(job.scratch), tracker=job.tracker, progress=job.progress)


def _describe(settings: GloveSettings, counts: Cooccurrences, loss: float) -> dict[str, float]:
    return {
        "loss": float(f"{loss:.10g}"),  # of a pair, in the last epoch
        "vocabulary_size": counts.num_words,
        "pairs": counts.num_entries,
        "parameters": 2 * counts.num_words * (settings.size + 1),
        "flops": _FLOPS_PER_NUMBER * settings.size * counts.num_entries * settings.epochs,
    }


FAMILY: Final = Family(
    name="glove",
    params=GloveSettings,
    pretrain=_pretrain,
    steps=None,
    load_encoder=load_static_encoder,
    load_tuned=load_static_tuned,
    load_scorer=None,
    load_vectors=load_model_vectors,
)
