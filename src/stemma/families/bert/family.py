"""BERT (Devlin et al. 2019): a Transformer encoder that learns from hidden words and from pairs of sentences.

The network is `transformers`' own, so that what is saved here loads anywhere; the objective, the data path and the loop
are ours. Left out on purpose: the second phase with longer inputs (a variant with another `max_length` is that).
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import tokenizers
import torch
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import nn

from stemma.config import Settings, Share
from stemma.data.batches import Shuffler, pack, slice_indices
from stemma.data.token_store import TokenStore
from stemma.errors import SettingsError
from stemma.families.base import Family, Pretraining
from stemma.families.bert.budget import pretraining_flops
from stemma.families.bert.data import Pairs, SentencePairs
from stemma.families.bert.masking import Masked, Masker
from stemma.families.bert.network import (
    build_network,
    load_encoder,
    load_tuned,
    pretraining_loss,
    read_tokenizer,
    save_network,
    token_id,
)
from stemma.families.bert.scorer import load_scorer
from stemma.files import write_text
from stemma.progress import NullProgress
from stemma.training.checkpoint import Checkpoints
from stemma.training.distributed import ALONE, Team, teamwork
from stemma.training.figures import curve_csv
from stemma.training.loop import Batch, Training, deterministic
from stemma.training.precision import Precision
from stemma.training.pretraining import optimisation_of, take_steps
from stemma.training.tracker import NullTracker

Ints = npt.NDArray[np.int64]
__all__ = ["FAMILY", "BertExamples", "BertSettings", "pretrain"]

_MAX_VALIDATION_EXAMPLES: Final = 1024


class BertSettings(Settings):
    """The size of the network, the objective and the budget."""

    layers: PositiveInt
    hidden_size: PositiveInt
    heads: PositiveInt
    intermediate_size: PositiveInt
    dropout: float = Field(ge=0, lt=1)
    max_length: int = Field(ge=8)  # tokens, with the three special ones
    steps: NonNegativeInt  # 0: no pretraining, the network as it was drawn
    batch_size: PositiveInt  # pairs
    tokens_per_pass: (
        PositiveInt  # how much of a batch goes through the network at once: bounds memory, and keeps to the cache
    )
    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(ge=0)
    warmup_share: Share
    max_gradient_norm: float = Field(gt=0)
    mask_probability: float = Field(gt=0, lt=1)
    mask_token_share: Share
    random_token_share: Share
    masking: Literal["dynamic", "static"]  # drawn anew each epoch, or once
    whole_word: bool
    checkpoint_every: PositiveInt  # steps
    precision: Precision  # of products; bfloat16 only where the processor has it
    threads: PositiveInt  # of each process
    processes: PositiveInt  # that share the passes of each batch

    @model_validator(mode="after")
    def _shares_and_sizes_fit(self) -> "BertSettings":
        if self.hidden_size % self.heads:
            raise ValueError(f"hidden_size {self.hidden_size} is not a multiple of heads {self.heads}")
        if self.mask_token_share + self.random_token_share > 1.0:
            raise ValueError("mask_token_share and random_token_share together are more than 1")
        return self


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
    write_text(job.out / "curve.csv", curve_csv(training.curve, "mlm", "nsp"))
    return {**metrics, "steps": training.step, **_budget(training, settings)}


def _budget(training: Training, settings: BertSettings) -> dict[str, float]:
    """What training took; how many words were hidden is taken from the settings' share."""
    network: Any = training.model
    flops = pretraining_flops(
        settings,
        network.config.vocab_size,
        num_tokens=training.num_tokens,
        num_words=settings.mask_probability * training.num_tokens,
        num_pairs=training.step * settings.batch_size,
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


def _examples(job: Pretraining[BertSettings]) -> "BertExamples":
    store = TokenStore.open(job.tokens / "train")
    return BertExamples(store, read_tokenizer(job.tokenizer), job.settings, job.seed)


class BertExamples:
    """Masked sentence pairs of a token store, by step."""

    def __init__(self, store: TokenStore, tokenizer: tokenizers.Tokenizer, settings: BertSettings, seed: int) -> None:
        cls_id, sep_id, pad_id = (token_id(tokenizer, token) for token in ("[CLS]", "[SEP]", "[PAD]"))
        self.pairs = SentencePairs(
            store, max_length=settings.max_length, cls_id=cls_id, sep_id=sep_id, pad_id=pad_id, seed=seed
        )
        self._masker = Masker(tokenizer, settings, seed)
        self._shuffler = Shuffler(self.pairs.lengths, settings.batch_size, seed, alike=False)
        self._anew = settings.masking == "dynamic"
        self._width, self._pad = settings.max_length, pad_id
        self._rows_per_pass = max(1, settings.tokens_per_pass // self._width)
        self._processes = settings.processes

    def __len__(self) -> int:
        return len(self.pairs)

    def batch_at(self, step: int) -> Batch:
        """The batch of a step, counted from 0."""
        place = self._shuffler.at(step)
        return self.batch(place.examples, place.epoch if self._anew else 0, place.name)

    def batch(self, examples: npt.NDArray[np.int64], epoch: int, name: str) -> Batch:
        """Some examples with the pairs and masks of one epoch."""
        pairs = self.pairs.build(examples, epoch)
        masked = self._masker.mask(pairs.ids, examples, epoch)
        packed = self._packed(pairs, masked)
        totals = {"all_words": np.array(max(1, masked.chosen.sum())), "all_pairs": np.array(len(examples))}
        num_rows = len(packed["input_ids"])
        step = min(self._rows_per_pass, -(-num_rows // self._processes))  # every process has something to do
        passes = [
            _as_pass({key: rows[start : start + step] for key, rows in packed.items()})
            for start in range(0, num_rows, step)
        ]
        return Batch(
            name=name,
            passes=[{key: torch.from_numpy(value) for key, value in {**one, **totals}.items()} for one in passes],
            num_tokens=int(pairs.lengths.sum()),
        )

    def _packed(self, pairs: Pairs, masked: Masked) -> dict[str, npt.NDArray[Any]]:
        """The pairs in rows (rows, width) without padding between them."""
        width = self._width
        packing = pack(pairs.lengths, width)
        starts = packing.rows * width + packing.columns
        places = slice_indices(starts, pairs.lengths)  # of all their tokens
        inside = np.arange(pairs.ids.shape[1]) < pairs.lengths[:, None]

        def rows(fill: int, values: npt.NDArray[Any], at: Ints = places) -> npt.NDArray[Any]:
            result = np.full(packing.num_rows * width, fill, values.dtype)
            result[at] = values
            return result.reshape(-1, width)

        numbers = np.arange(len(pairs.lengths))
        return {
            "input_ids": rows(self._pad, masked.ids[inside]),
            "token_type_ids": rows(0, pairs.types[inside]),
            "position_ids": rows(0, np.broadcast_to(np.arange(inside.shape[1]), inside.shape)[inside]),
            "examples": rows(-1, np.repeat(numbers, pairs.lengths)),
            "words": rows(-1, np.where(masked.chosen, pairs.ids, -1)[inside]),  # what is asked, -1 where nothing is
            "is_random": rows(-1, pairs.is_random.astype(np.int64), starts),  # at [CLS]
        }


def _as_pass(rows: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Some rows as `pretraining_loss` takes them: for words and pairs, where they stand among the asked columns."""
    words, is_random = rows.pop("words"), rows.pop("is_random")
    row, column = np.nonzero((words >= 0) | (is_random >= 0))
    counts = np.bincount(row, minlength=len(words))
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = np.zeros((len(words), int(counts.max())), np.int64)
    columns[row, place] = column
    flat, asked, first = row * columns.shape[1] + place, words[row, column], is_random[row, column]
    found = {
        "columns": columns,
        "asked": flat[asked >= 0],
        "labels": asked[asked >= 0],
        "firsts": flat[first >= 0],
        "next_sentence_label": first[first >= 0],
    }
    if (rows["examples"] == rows["examples"][:, :1]).all():  # one example a row, and no padding: nothing to keep apart
        del rows["examples"]
    return {**rows, **found}


def _validate(
    network: nn.Module, folder: Path, tokenizer: tokenizers.Tokenizer, settings: BertSettings, seed: int
) -> dict[str, float]:
    """Loss at hidden words and share of pairs judged right, on documents that were not trained on; none, no figures."""
    store = TokenStore.open(folder)
    if store.num_documents < 2:
        return {}
    examples = BertExamples(store, tokenizer, settings, seed)
    every = -(-len(examples) // _MAX_VALIDATION_EXAMPLES)
    chosen = np.arange(0, len(examples), every)
    totals = {"mlm": 0.0, "nsp_right": 0.0, "words": 0, "pairs": 0}
    network.eval()
    with torch.inference_mode():
        for start in range(0, len(chosen), settings.batch_size):
            batch = examples.batch(chosen[start : start + settings.batch_size], 0, "validation")
            words, pairs = (int(batch.passes[0][name]) for name in ("all_words", "all_pairs"))
            for tensors in batch.passes:
                losses = pretraining_loss(network, tensors)
                totals["mlm"] += float(losses["mlm"]) * words
                totals["nsp_right"] += float(losses["nsp_accuracy"]) * pairs
            totals["words"] += words
            totals["pairs"] += pairs
    return {
        "validation_mlm_loss": totals["mlm"] / totals["words"],
        "validation_nsp_accuracy": totals["nsp_right"] / totals["pairs"],
    }


FAMILY: Final = Family(
    name="bert",
    params=BertSettings,
    pretrain=pretrain,
    steps=_steps,
    load_encoder=load_encoder,
    load_tuned=load_tuned,
    load_scorer=load_scorer,
    load_vectors=None,
)
