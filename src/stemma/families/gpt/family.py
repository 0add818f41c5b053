"""GPT (Radford et al. 2018): a Transformer decoder that learns to predict the next token of running text.

The network is `transformers`' own, so that what is saved here loads anywhere; forward, data path and loop are ours. Left out
on purpose: the paper's byte-pair encoding (the corpus's own tokenizer is used) and its cosine schedule.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field, NonNegativeInt, PositiveInt

from stemma.config import Share
from stemma.data.batches import Shuffler, pad_rows
from stemma.data.token_store import TokenStore
from stemma.errors import SettingsError
from stemma.families.base import Family, Pretraining
from stemma.families.gpt.budget import pretraining_flops
from stemma.families.gpt.contextual import load_contextual
from stemma.families.gpt.encoder import load_encoder, load_tuned, save_auxiliary_weight
from stemma.families.gpt.generator import load_generator
from stemma.families.gpt.network import NetworkSettings, build_network, save_network, text_loss
from stemma.families.gpt.scorer import load_scorer
from stemma.families.gpt.text import TextRows
from stemma.families.gpt.transfer import transfer
from stemma.families.gpt.validation import validate
from stemma.files import write_text
from stemma.progress import NullProgress
from stemma.text.symbols import Symbols, read_symbols
from stemma.training.checkpoint import Checkpoints
from stemma.training.distributed import ALONE, Team, teamwork
from stemma.training.figures import curve_csv
from stemma.training.loop import Batch, Training, deterministic
from stemma.training.precision import Precision
from stemma.training.pretraining import optimisation_of, take_steps
from stemma.training.tracker import NullTracker

Ints = npt.NDArray[np.int64]
__all__ = ["FAMILY", "GptExamples", "GptSettings", "pretrain"]


class GptSettings(NetworkSettings):
    """The shape of the network and the budget."""

    steps: NonNegativeInt  # 0: no pretraining, the network as it was drawn
    batch_size: PositiveInt  # rows of max_length tokens
    tokens_per_pass: PositiveInt  # how much of a batch goes through the network at once: bounds memory
    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(ge=0)
    warmup_share: Share
    max_gradient_norm: float = Field(gt=0)
    auxiliary_weight: float = Field(ge=0)  # λ: how much predicting text counts beside a task, when it is tuned
    checkpoint_every: PositiveInt  # steps
    precision: Precision  # of products; bfloat16 only where the processor has it
    threads: PositiveInt  # of each process
    processes: PositiveInt  # that share the passes of each batch


def pretrain(job: Pretraining[GptSettings]) -> dict[str, float]:
    """Train on the tokens, write the network and the curve, and return the metrics."""
    settings = job.settings
    quiet = replace(job, tracker=NullTracker(), progress=NullProgress())
    with teamwork(settings.processes if settings.steps else 1, _train, quiet) as team:
        training = _train(job, team)
    network, symbols = training.model, read_symbols(job.tokenizer)
    with deterministic(settings.threads):
        metrics = validate(network, TokenStore.open(job.tokens / "validation"), symbols, job.progress)
    save_network(network, job.out)
    save_auxiliary_weight(settings.auxiliary_weight, job.out)
    write_text(job.out / "curve.csv", curve_csv(training.curve))
    return {**metrics, "steps": training.step, **_budget(training, settings, symbols)}


def _budget(training: Training, settings: GptSettings, symbols: Symbols) -> dict[str, float]:
    """What training took."""
    flops = pretraining_flops(settings, symbols.size, training.num_tokens)
    num_parameters = sum(parameter.numel() for parameter in training.model.parameters())
    return {"tokens": training.num_tokens, "parameters": num_parameters, "flops": round(flops)}


def _train(job: Pretraining[GptSettings], team: Team) -> Training:
    """Train as one of a team of processes."""
    steps = job.settings.steps
    with deterministic(job.settings.threads):
        training = _begin(job, team)
        if steps:
            job.progress.start("pretraining", steps, "steps")
            training.advance(steps, _examples(job).batch_at, text_loss)
            training.save()
    return training


def _steps(job: Pretraining[GptSettings]) -> Iterator[int]:
    """Training steps of one process, for those who want to know what they cost."""
    if not job.settings.steps:
        raise SettingsError(
            "steps: 0, so that there is no training step to look at; choose a variant that is pretrained"
        )
    with deterministic(job.settings.threads):
        yield from take_steps(_begin(job, ALONE), _examples(job).batch_at, text_loss)


def _begin(job: Pretraining[GptSettings], team: Team) -> Training:
    network = build_network(job.settings, read_symbols(job.tokenizer), seed=job.seed)
    optimisation = optimisation_of(job.settings, job.seed, job.settings.precision)
    checkpoints = Checkpoints(job.scratch)
    return Training(network, optimisation, checkpoints, tracker=job.tracker, progress=job.progress, team=team)


def _examples(job: Pretraining[GptSettings]) -> "GptExamples":
    store = TokenStore.open(job.tokens / "train")
    return GptExamples(store, read_symbols(job.tokenizer), job.settings, job.seed)


class GptExamples:
    """Rows of running text, by step. Every batch is full: what an epoch's last one lacks are rows that it has had already."""

    def __init__(self, store: TokenStore, symbols: Symbols, settings: GptSettings, seed: int) -> None:
        self.rows = TextRows(store, symbols, width=settings.max_length, seed=seed)
        num_batches = -(-len(self.rows) // settings.batch_size)
        lengths = np.full(num_batches * settings.batch_size, settings.max_length)
        self._shuffler = Shuffler(lengths, settings.batch_size, seed, alike=False)
        self._width, self._processes = settings.max_length, settings.processes
        self._rows_per_pass = max(1, settings.tokens_per_pass // self._width)

    def batch_at(self, step: int) -> Batch:
        """The batch of a step, counted from 0."""
        place = self._shuffler.at(step)
        rows = self.rows.build(place.examples % len(self.rows), place.epoch)
        lengths = np.array([len(row) for row in rows])
        ids = pad_rows(np.concatenate(rows), np.cumsum(lengths) - lengths, lengths, 0, self._width + 1)
        total = int((lengths - 1).sum())
        size = min(self._rows_per_pass, -(-len(rows) // self._processes))  # every process has something to do
        starts = range(0, len(rows), size)
        passes = [_as_pass(ids[start : start + size], lengths[start : start + size], total) for start in starts]
        return Batch(name=place.name, passes=passes, num_tokens=total)


def _as_pass(ids: Ints, lengths: Ints, total: int) -> dict[str, torch.Tensor]:
    """Some rows (rows, width + 1) as `text_loss` takes them."""
    words, arrays = ids[:, 1:].ravel(), {"input_ids": np.ascontiguousarray(ids[:, :-1])}
    if int(lengths.min()) < ids.shape[1]:
        arrays["asked"] = np.flatnonzero(np.arange(1, ids.shape[1]) < lengths[:, None])
        words = words[arrays["asked"]]
    arrays |= {"words": words, "all_words": np.array(total)}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


FAMILY: Final = Family(
    name="gpt",
    params=GptSettings,
    pretrain=pretrain,
    steps=_steps,
    load_encoder=load_encoder,
    load_tuned=load_tuned,
    load_scorer=load_scorer,
    load_vectors=None,
    load_generator=load_generator,
    load_contextual=load_contextual,
    transfer=transfer,
)
