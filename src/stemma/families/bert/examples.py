"""Batches of BERT's pretraining: texts with what is asked of them, packed into rows without padding between them."""

from typing import Any

import numpy as np
import numpy.typing as npt
import tokenizers
import torch

from stemma.data.batches import Shuffler, pack, slice_indices
from stemma.data.token_store import TokenStore
from stemma.families.bert.data import Pairs, SentencePairs, SentenceRuns
from stemma.families.bert.masking import Masker
from stemma.families.bert.network import token_id
from stemma.families.bert.settings import BertSettings
from stemma.training.loop import Batch

__all__ = ["BertExamples"]

Ints = npt.NDArray[np.int64]


class BertExamples:
    """The texts of a token store with words asked of them, by step: hidden ones, or from left to right every next one."""

    def __init__(self, store: TokenStore, tokenizer: tokenizers.Tokenizer, settings: BertSettings, seed: int) -> None:
        cls_id, sep_id, pad_id = (token_id(tokenizer, token) for token in ("[CLS]", "[SEP]", "[PAD]"))
        texts = SentencePairs if settings.next_sentence else SentenceRuns
        self.texts = texts(
            store, max_length=settings.max_length, cls_id=cls_id, sep_id=sep_id, pad_id=pad_id, seed=seed
        )
        self._masker = Masker(tokenizer, settings, seed) if settings.direction == "both" else None
        self._next_sentence = settings.next_sentence
        self._shuffler = Shuffler(self.texts.lengths, settings.batch_size, seed, alike=False)
        self._anew = settings.masking == "dynamic"
        self._width, self._pad = settings.max_length, pad_id
        self._rows_per_pass = max(1, settings.tokens_per_pass // self._width)
        self._processes = settings.processes

    def __len__(self) -> int:
        return len(self.texts)

    def batch_at(self, step: int) -> Batch:
        """The batch of a step, counted from 0."""
        place = self._shuffler.at(step)
        return self.batch(place.examples, place.epoch if self._anew else 0, place.name)

    def batch(self, examples: Ints, epoch: int, name: str) -> Batch:
        """Some examples with the pairs and masks of one epoch."""
        texts = self.texts.build(examples, epoch)
        ids, words = self._ask(texts, examples, epoch)
        packed = self._packed(texts, ids, words)
        totals = {"all_words": np.array(max(1, (words >= 0).sum())), "all_pairs": np.array(len(examples))}
        num_rows = len(packed["input_ids"])
        step = min(self._rows_per_pass, -(-num_rows // self._processes))  # every process has something to do
        passes = [
            _as_pass({key: rows[start : start + step] for key, rows in packed.items()})
            for start in range(0, num_rows, step)
        ]
        return Batch(
            name=name,
            passes=[{key: torch.from_numpy(value) for key, value in {**one, **totals}.items()} for one in passes],
            num_tokens=int(texts.lengths.sum()),
        )

    def _ask(self, texts: Pairs, examples: Ints, epoch: int) -> tuple[Ints, Ints]:
        """What goes into the network, and which word is asked at each place, -1 where none is; (batch, length) both."""
        if self._masker is not None:
            masked = self._masker.mask(texts.ids, examples, epoch)
            return masked.ids, np.where(masked.chosen, texts.ids, -1)
        following = np.roll(texts.ids, -1, axis=1)
        return texts.ids, np.where(np.arange(texts.ids.shape[1]) < texts.lengths[:, None] - 1, following, -1)

    def _packed(self, texts: Pairs, ids: Ints, words: Ints) -> dict[str, npt.NDArray[Any]]:
        """The texts in rows (rows, width) without padding between them."""
        width = self._width
        packing = pack(texts.lengths, width)
        starts = packing.rows * width + packing.columns
        places = slice_indices(starts, texts.lengths)  # of all their tokens
        inside = np.arange(texts.ids.shape[1]) < texts.lengths[:, None]

        def rows(fill: int, values: npt.NDArray[Any], at: Ints = places) -> npt.NDArray[Any]:
            result = np.full(packing.num_rows * width, fill, values.dtype)
            result[at] = values
            return result.reshape(-1, width)

        numbers = np.arange(len(texts.lengths))
        found = {
            "input_ids": rows(self._pad, ids[inside]),
            "token_type_ids": rows(0, texts.types[inside]),
            "position_ids": rows(0, np.broadcast_to(np.arange(inside.shape[1]), inside.shape)[inside]),
            "examples": rows(-1, np.repeat(numbers, texts.lengths)),
            "words": rows(-1, words[inside]),
        }
        if self._next_sentence:
            found["is_random"] = rows(-1, texts.is_random.astype(np.int64), starts)  # at [CLS]
        return found


def _as_pass(rows: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Some rows as `pretraining_loss` takes them: for words and pairs, where they stand among the asked columns."""
    words, is_random = rows.pop("words"), rows.pop("is_random", None)
    row, column = np.nonzero(words >= 0 if is_random is None else (words >= 0) | (is_random >= 0))
    counts = np.bincount(row, minlength=len(words))
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = np.zeros((len(words), max(1, int(counts.max()))), np.int64)
    columns[row, place] = column
    flat, asked = row * columns.shape[1] + place, words[row, column]
    found = {"columns": columns, "asked": flat[asked >= 0], "labels": asked[asked >= 0]}
    if is_random is not None:
        first = is_random[row, column]
        found |= {"firsts": flat[first >= 0], "next_sentence_label": first[first >= 0]}
    if (rows["examples"] == rows["examples"][:, :1]).all():  # one example a row, and no padding: nothing to keep apart
        del rows["examples"]
    return {**rows, **found}
