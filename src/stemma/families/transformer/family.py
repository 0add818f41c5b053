"""The Transformer (Vaswani et al. 2017): a translation from an encoder-decoder with nothing but attention.

The first network here without a recurrence over the words: every word looks at all others at once. Left out on purpose: the
mean of the last checkpoints' weights, and batches of a fixed number of tokens (ours have a fixed number of pairs).
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from stemma.config import Share
from stemma.data.batches import Shuffler
from stemma.data.token_store import TokenStore
from stemma.errors import TrainingError
from stemma.families.base import Family, Pretraining
from stemma.families.transformer.budget import pair_flops
from stemma.families.transformer.data import Pairs
from stemma.families.transformer.network import NetworkSettings, Transformer, build_network, save_network
from stemma.families.transformer.translator import SearchSettings, load_translator, save_search
from stemma.files import write_text
from stemma.progress import Progress
from stemma.text.symbols import Symbols, read_symbols
from stemma.training.checkpoint import Checkpoints
from stemma.training.figures import curve_csv, rounded
from stemma.training.loop import Batch, Objective, Training, deterministic
from stemma.training.pretraining import optimisation_of, take_steps
from stemma.training.schedule import Schedule

__all__ = ["FAMILY", "TransformerSettings", "batch_source", "objective_of", "pretrain"]


class TransformerSettings(NetworkSettings, SearchSettings):
    """The shape of the network, the budget, and how it translates."""

    max_length: PositiveInt  # tokens; pairs with a longer side are left out of training
    label_smoothing: float = Field(ge=0, lt=1)
    steps: PositiveInt
    batch_size: PositiveInt  # pairs
    learning_rate: float = Field(gt=0)  # the highest
    schedule: Schedule
    warmup_share: Share
    betas: tuple[Share, Share]  # of Adam's two means
    epsilon: float = Field(gt=0)  # of Adam
    weight_decay: float = Field(ge=0)
    max_gradient_norm: float = Field(gt=0)
    checkpoint_every: PositiveInt  # steps
    threads: PositiveInt


def pretrain(job: Pretraining[TransformerSettings]) -> dict[str, float]:
    """Train on the pairs, write the network and the curve, and return the metrics."""
    symbols, settings = read_symbols(job.tokenizer), job.settings
    pairs = _open_pairs(job, symbols)
    with deterministic(settings.threads):
        training, network = _begin(job, symbols)
        job.progress.start("pretraining", settings.steps, "steps")
        training.advance(settings.steps, batch_source(pairs, job), objective_of(settings))
        training.save()
        validation = Pairs(TokenStore.open(job.tokens / "validation"), symbols, max_length=settings.max_length)
        metrics = _validate(network, validation, settings.batch_size, job.progress)
    save_network(network, settings, job.out)
    save_search(settings, job.out)
    write_text(job.out / "curve.csv", curve_csv(training.curve))
    return {
        **metrics,
        "steps": training.step,
        "tokens": training.num_tokens,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "flops": round(_flops(settings, symbols, pairs) * training.num_tokens),
        "pairs": len(pairs),
        "pairs_left_out": pairs.num_left_out,
    }


def objective_of(settings: TransformerSettings) -> Objective:
    """The mean of the nats of a batch's predictions, with smoothed labels."""

    def objective(model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        network: Any = model
        words = tensors["words"]
        hidden = network.predictions(tensors["source"], tensors["lengths"], tensors["target"], tensors["inside"])
        return {"loss": network.loss(hidden, words, 1 / len(words), settings.label_smoothing)}

    return objective


def batch_source(pairs: Pairs, job: Pretraining[TransformerSettings]) -> Callable[[int], Batch]:
    """Batches of pairs of similar length, by the number of the step: with little padding on either side."""
    lengths = pairs.source_lengths + pairs.target_lengths
    longer = np.maximum(pairs.source_lengths, pairs.target_lengths)
    shuffler = Shuffler(longer, job.settings.batch_size, job.seed)

    def batch_at(step: int) -> Batch:
        place = shuffler.at(step)
        num_tokens = int(lengths[place.examples].sum())
        return Batch(name=place.name, passes=[pairs.tensors(place.examples)], num_tokens=num_tokens)

    return batch_at


def _open_pairs(job: Pretraining[TransformerSettings], symbols: Symbols) -> Pairs:
    pairs = Pairs(TokenStore.open(job.tokens / "train"), symbols, max_length=job.settings.max_length)
    if not len(pairs):
        raise TrainingError("there is no pair of sentences to train on; raise max_length, or add text to the corpus")
    return pairs


def _steps(job: Pretraining[TransformerSettings]) -> Iterator[int]:
    """Training steps, for those who want to know what they cost."""
    symbols = read_symbols(job.tokenizer)
    with deterministic(job.settings.threads):
        batch_at = batch_source(_open_pairs(job, symbols), job)
        training, _ = _begin(job, symbols)
        yield from take_steps(training, batch_at, objective_of(job.settings))


def _begin(job: Pretraining[TransformerSettings], symbols: Symbols) -> tuple[Training, Transformer]:
    settings = job.settings
    network = build_network(settings, symbols.size, seed=job.seed)
    optimisation = replace(
        optimisation_of(settings, job.seed),
        schedule=settings.schedule,
        betas=settings.betas,
        epsilon=settings.epsilon,
    )
    checkpoints = Checkpoints(job.scratch)
    return Training(network, optimisation, checkpoints, tracker=job.tracker, progress=job.progress), network


def _validate(network: Transformer, pairs: Pairs, batch_size: int, progress: Progress) -> dict[str, float]:
    """The loss a target's token given its source (each `</s>` is one), labels as they are, on pairs that were not trained on."""
    if not len(pairs):
        return {}
    network.eval()
    progress.start("validating", len(pairs), "pairs")
    nats: list[float] = []
    num_words = 0
    order = np.argsort(pairs.source_lengths + pairs.target_lengths, kind="stable")
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            tensors = pairs.tensors(order[start : start + batch_size])
            words = tensors.pop("words")
            scores = network.scores(network.predictions(**tensors))
            nats.append(float(nn.functional.cross_entropy(scores, words, reduction="sum")))
            num_words += len(words)
            progress.update(min(start + batch_size, len(order)))
    mean = math.fsum(nats) / num_words
    return {"validation_loss": rounded(mean), "validation_perplexity": rounded(math.exp(mean))}


def _flops(settings: TransformerSettings, symbols: Symbols, pairs: Pairs) -> float:
    """Floating-point operations a token, over all pairs."""
    sources, targets = pairs.source_lengths, pairs.target_lengths
    return pair_flops(settings, symbols.size, sources, targets) / float((sources + targets).sum())


FAMILY: Final = Family(
    name="transformer",
    params=TransformerSettings,
    pretrain=pretrain,
    steps=_steps,
    load_encoder=None,
    load_tuned=None,
    load_scorer=None,
    load_vectors=None,
    load_translator=load_translator,
)
