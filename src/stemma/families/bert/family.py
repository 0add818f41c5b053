"""BERT (Devlin et al. 2019): a Transformer encoder that learns from hidden words and from pairs of sentences.

The network is `transformers`' own, so that what is saved here loads anywhere; the objective, the data path and the loop
are ours. Left out on purpose: the second phase with longer inputs (a variant with another `max_length` is that).
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import tokenizers
import torch
from torch import nn

from stemma.data.token_store import TokenStore
from stemma.errors import SettingsError
from stemma.families.base import Family, Pretraining
from stemma.families.bert.budget import pretraining_flops
from stemma.families.bert.contextual import load_contextual
from stemma.families.bert.examples import BertExamples
from stemma.families.bert.filler import load_filler
from stemma.families.bert.network import (
    build_network,
    load_encoder,
    load_tuned,
    pretraining_loss,
    read_tokenizer,
    save_network,
)
from stemma.families.bert.scorer import load_scorer
from stemma.families.bert.settings import BertSettings
from stemma.families.bert.transfer import transfer
from stemma.files import write_text
from stemma.progress import NullProgress
from stemma.training.checkpoint import Checkpoints
from stemma.training.distributed import ALONE, Team, teamwork
from stemma.training.figures import curve_csv
from stemma.training.loop import Training, deterministic
from stemma.training.pretraining import optimisation_of, take_steps
from stemma.training.tracker import NullTracker

__all__ = ["FAMILY", "BertExamples", "BertSettings", "pretrain"]

_MAX_VALIDATION_EXAMPLES: Final = 1024


def pretrain(job: Pretraining[BertSettings]) -> dict[str, float]:
    """Train on the tokens, write the network, its tokenizer and the curve, and return the metrics."""
    settings = job.settings
    quiet = replace(job, tracker=NullTracker(), progress=NullProgress())
    with teamwork(settings.processes if settings.steps else 1, _train, quiet) as team:
        training = _train(job, team)
    network = training.model
    with deterministic(settings.threads):
        metrics = _validate(network, job.tokens / "validation", read_tokenizer(job.tokenizer), settings, job.seed)
    save_network(network, job.tokenizer, job.out)
    write_text(job.out / "curve.csv", curve_csv(training.curve, *_losses(settings)))
    return {**metrics, "steps": training.step, **_budget(training, settings)}


def _losses(settings: BertSettings) -> tuple[str, ...]:
    """The parts of the loss: of words, and of pairs if there are any."""
    words = "mlm" if settings.direction == "both" else "lm"
    return (words, "nsp") if settings.next_sentence else (words,)


def _budget(training: Training, settings: BertSettings) -> dict[str, float]:
    """What training took; how many words were hidden is taken from the settings' share."""
    network: Any = training.model
    num_examples = training.step * settings.batch_size
    one_way = settings.direction == "left-to-right"
    flops = pretraining_flops(
        settings,
        network.config.vocab_size,
        num_tokens=training.num_tokens,
        num_words=training.num_tokens - num_examples if one_way else settings.mask_probability * training.num_tokens,
        num_pairs=num_examples if settings.next_sentence else 0,
    )
    num_parameters = sum(parameter.numel() for parameter in network.parameters())
    return {"tokens": training.num_tokens, "parameters": num_parameters, "flops": round(flops)}


def _train(job: Pretraining[BertSettings], team: Team) -> Training:
    """Train as one of a team of processes."""
    steps = job.settings.steps
    with deterministic(job.settings.threads):
        training = _begin(job, team)
        if steps:
            job.progress.start("pretraining", steps, "steps")
            training.advance(steps, _examples(job).batch_at, pretraining_loss)
            training.save()
    return training


def _steps(job: Pretraining[BertSettings]) -> Iterator[int]:
    """Training steps of one process, for those who want to know what they cost."""
    if not job.settings.steps:
        raise SettingsError(
            "steps: 0, so that there is no training step to look at; choose a variant that is pretrained"
        )
    with deterministic(job.settings.threads):
        yield from take_steps(_begin(job, ALONE), _examples(job).batch_at, pretraining_loss)


def _begin(job: Pretraining[BertSettings], team: Team) -> Training:
    network = build_network(job.settings, read_tokenizer(job.tokenizer), seed=job.seed)
    return Training(
        network,
        optimisation_of(job.settings, job.seed, job.settings.precision),
        Checkpoints(job.scratch),
        tracker=job.tracker,
        progress=job.progress,
        team=team,
    )


def _examples(job: Pretraining[BertSettings]) -> BertExamples:
    store = TokenStore.open(job.tokens / "train")
    return BertExamples(store, read_tokenizer(job.tokenizer), job.settings, job.seed)


def _validate(
    network: nn.Module, folder: Path, tokenizer: tokenizers.Tokenizer, settings: BertSettings, seed: int
) -> dict[str, float]:
    """Loss a word and share of pairs judged right, on documents that were not trained on; none, no figures."""
    store = TokenStore.open(folder)
    if store.num_documents < 2:
        return {}
    examples = BertExamples(store, tokenizer, settings, seed)
    every = -(-len(examples) // _MAX_VALIDATION_EXAMPLES)
    chosen = np.arange(0, len(examples), every)
    words, *_ = _losses(settings)
    totals = {"words": 0.0, "right": 0.0, "num_words": 0, "num_pairs": 0}
    network.eval()
    with torch.inference_mode():
        for start in range(0, len(chosen), settings.batch_size):
            batch = examples.batch(chosen[start : start + settings.batch_size], 0, "validation")
            num_words, num_pairs = (int(batch.passes[0][name]) for name in ("all_words", "all_pairs"))
            for tensors in batch.passes:
                losses = pretraining_loss(network, tensors)
                totals["words"] += float(losses[words]) * num_words
                totals["right"] += float(losses.get("nsp_accuracy", 0.0)) * num_pairs
            totals["num_words"] += num_words
            totals["num_pairs"] += num_pairs
    figures = {f"validation_{words}_loss": totals["words"] / totals["num_words"]}
    if settings.next_sentence:
        figures["validation_nsp_accuracy"] = totals["right"] / totals["num_pairs"]
    return figures


FAMILY: Final = Family(
    name="bert",
    params=BertSettings,
    pretrain=pretrain,
    steps=_steps,
    load_encoder=load_encoder,
    load_tuned=load_tuned,
    load_scorer=load_scorer,
    load_vectors=None,
    load_filler=load_filler,
    load_contextual=load_contextual,
    transfer=transfer,
)
