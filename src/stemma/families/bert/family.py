"""BERT (Devlin et al. 2019): a Transformer encoder that learns from hidden words and from pairs of sentences.

The network is `transformers`' own, so that what is saved here loads anywhere; the objective, the data path and the loop
are ours. Left out on purpose: the second phase with longer inputs (a variant with another `max_length` is that).
"""

import csv
import io
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import tokenizers
import torch
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import nn

from stemma.config import Settings, Share
from stemma.data.batches import Shuffler
from stemma.data.token_store import TokenStore
from stemma.families.base import Family, Pretraining
from stemma.families.bert.data import SentencePairs
from stemma.families.bert.masking import Masker
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
from stemma.training.checkpoint import Checkpoints
from stemma.training.loop import Batch, Optimisation, Training, deterministic

__all__ = ["FAMILY", "BertExamples", "BertSettings", "pretrain"]

_POINTS: Final = 200  # of the training curve
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
    batch_size: PositiveInt
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
    threads: PositiveInt

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
    tokenizer = read_tokenizer(job.tokenizer)
    with deterministic(settings.threads):
        network = build_network(settings, tokenizer, seed=job.seed)
        training = Training(
            network, _optimisation(job), Checkpoints(job.scratch), tracker=job.tracker, progress=job.progress
        )
        if settings.steps:
            examples = BertExamples(TokenStore.open(job.tokens / "train"), tokenizer, settings, job.seed)
            job.progress.start("pretraining", settings.steps, "steps")
            training.advance(settings.steps, examples.batch_at, pretraining_loss)
            training.save()
        metrics = _validate(network, job.tokens / "validation", tokenizer, settings, job.seed)
    save_network(network, job.tokenizer, job.out)
    write_text(job.out / "curve.csv", _curve_csv(training.curve))
    num_parameters = sum(parameter.numel() for parameter in network.parameters())
    return {**metrics, "steps": training.step, "tokens": training.num_tokens, "parameters": num_parameters}


class BertExamples:
    """Masked sentence pairs of a token store, by step."""

    def __init__(self, store: TokenStore, tokenizer: tokenizers.Tokenizer, settings: BertSettings, seed: int) -> None:
        cls_id, sep_id, pad_id = (token_id(tokenizer, token) for token in ("[CLS]", "[SEP]", "[PAD]"))
        self._pairs = SentencePairs(
            store, max_length=settings.max_length, cls_id=cls_id, sep_id=sep_id, pad_id=pad_id, seed=seed
        )
        self._masker = Masker(tokenizer, settings, seed)
        self._shuffler = Shuffler(self._pairs.lengths, settings.batch_size, seed)
        self._anew = settings.masking == "dynamic"

    def __len__(self) -> int:
        return len(self._pairs)

    def batch_at(self, step: int) -> Batch:
        """The batch of a step, counted from 0."""
        place = self._shuffler.at(step)
        return self.batch(place.examples, place.epoch if self._anew else 0, place.name)

    def batch(self, examples: npt.NDArray[np.int64], epoch: int, name: str) -> Batch:
        """Some examples with the pairs and masks of one epoch."""
        pairs = self._pairs.build(examples, epoch)
        masked = self._masker.mask(pairs.ids, examples, epoch)
        columns, asked = _asked_columns(masked.chosen)
        tensors = {
            "input_ids": masked.ids,
            "token_type_ids": pairs.types,
            "columns": columns,
            "asked": asked,
            "labels": pairs.ids[masked.chosen],
            "next_sentence_label": pairs.is_random.astype(np.int64),
        }
        width = pairs.ids.shape[1]
        if (pairs.lengths < width).any():  # where nothing is padding, attention is cheaper without a mask
            tensors["attention_mask"] = (np.arange(width) < pairs.lengths[:, None]).astype(np.int64)
        num_tokens = int(pairs.lengths.sum())
        return Batch(
            name=name, tensors={key: torch.from_numpy(value) for key, value in tensors.items()}, num_tokens=num_tokens
        )


def _asked_columns(chosen: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Each row's column 0 and its chosen ones (batch, width), filled up with 0, and where the chosen ones lie in that."""
    rows, columns = np.nonzero(chosen)
    counts = chosen.sum(axis=1)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    table = np.zeros((len(chosen), int(counts.max(initial=0)) + 1), np.int64)
    table[rows, place] = columns
    return table, rows * table.shape[1] + place


def _optimisation(job: Pretraining[BertSettings]) -> Optimisation:
    settings = job.settings
    return Optimisation(
        steps=settings.steps,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        warmup_share=settings.warmup_share,
        max_gradient_norm=settings.max_gradient_norm,
        seed=job.seed,
        record_every=max(1, settings.steps // _POINTS),
        checkpoint_every=settings.checkpoint_every,
    )


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
            losses = pretraining_loss(network, batch.tensors)
            words, pairs = len(batch.tensors["labels"]), len(batch.tensors["input_ids"])
            totals["mlm"] += float(losses["mlm"]) * words
            totals["nsp_right"] += float(losses["nsp_accuracy"]) * pairs
            totals["words"] += words
            totals["pairs"] += pairs
    return {
        "validation_mlm_loss": totals["mlm"] / totals["words"],
        "validation_nsp_accuracy": totals["nsp_right"] / totals["pairs"],
    }


def _curve_csv(curve: list[dict[str, float]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["step", "loss", "mlm", "nsp"], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(curve)
    return text.getvalue()


FAMILY: Final = Family(
    name="bert",
    params=BertSettings,
    pretrain=pretrain,
    load_encoder=load_encoder,
    load_tuned=load_tuned,
    load_scorer=load_scorer,
)
