"""How surprised BERT is by a sentence: pseudo-log-likelihood (Salazar et al. 2020), each token hidden in turn.

The figures are no probabilities of sentences, and are not to be compared with those of a model that reads left to right. A BERT
that was trained to do so has its own scorer, whose figures are: `[SEP]` ends a sentence.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import cross_entropy

from stemma.data.batches import Ragged
from stemma.families.bert.forward import encode
from stemma.families.bert.network import load_pretrained, read_tokenizer, token_id
from stemma.files import read_json
from stemma.protocols import Scores
from stemma.training.loop import deterministic

__all__ = ["BertScorer", "LeftToRightScorer", "load_scorer"]

Ints = npt.NDArray[np.int64]
_TOKENS_PER_BATCH: Final = 2048


class BertScorer:
    """Scores sentences; one that is longer than an input is scored in pieces."""

    pseudo = True

    def __init__(self, folder: Path) -> None:
        network: Any = load_pretrained(folder)
        self._network = network.eval()
        self._tokenizer = read_tokenizer(folder)
        self._room = int(network.config.max_position_embeddings) - 2
        self._cls, self._sep, self._pad, self._mask, self._unknown = (
            token_id(self._tokenizer, token) for token in ("[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]")
        )

    def score(self, sentences: Sequence[str]) -> Scores:
        """Minus the sum of log P(token | all other tokens), a sentence."""
        encodings = self._tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
        tokens = Ragged.from_rows([encoding.ids for encoding in encodings], np.int64)
        pieces, owners = self._pieces(tokens)
        nats = np.zeros(len(sentences))
        with deterministic(threads=1), torch.inference_mode():
            for rows, columns in self._batches(pieces):
                np.add.at(nats, owners[rows], self._surprise(pieces, rows, columns))
        unknown = np.zeros(len(sentences), np.int64)
        np.add.at(unknown, np.repeat(np.arange(len(tokens)), tokens.lengths), tokens.values == self._unknown)
        return Scores(nats=nats, num_predictions=tokens.lengths, num_unknown=unknown)

    def _pieces(self, tokens: Ragged) -> tuple[Ragged, Ints]:
        """Inputs with special tokens, and the sentence that each belongs to."""
        rows, owners = [], []
        for sentence in range(len(tokens)):
            ids = tokens.values[tokens.offsets[sentence] : tokens.offsets[sentence + 1]]
            for start in range(0, len(ids), self._room):
                rows.append(np.concatenate([[self._cls], ids[start : start + self._room], [self._sep]]))
                owners.append(sentence)
        return Ragged.from_rows(rows, np.int64), np.array(owners, np.int64)

    def _batches(self, pieces: Ragged) -> Iterator[tuple[Ints, Ints]]:
        """Copies to score: which piece, and which of its columns is hidden; short ones first, for little padding."""
        order = np.argsort(pieces.lengths, kind="stable")
        counts = pieces.lengths[order] - 2
        rows = np.repeat(order, counts)
        columns = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        start = 0
        while start < len(rows):
            size = max(1, _TOKENS_PER_BATCH // int(pieces.lengths[rows[start]]))
            yield rows[start : start + size], columns[start : start + size]
            start += size

    def _surprise(self, pieces: Ragged, rows: Ints, columns: Ints) -> npt.NDArray[np.float64]:
        """Minus log P of the token in one column of each row, hidden there."""
        ids = torch.from_numpy(pieces.padded(rows, self._pad))
        inside = torch.arange(ids.shape[1]) < torch.from_numpy(pieces.lengths[rows])[:, None]
        place = (torch.arange(len(rows)), torch.from_numpy(columns))
        wanted = ids[place]
        ids[place] = self._mask
        inputs = {"input_ids": ids, "attention_mask": inside, "token_type_ids": torch.zeros_like(ids)}
        hidden = encode(self._network.bert, {**inputs, "columns": place[1][:, None]})  # (copies, 1, size)
        logits = self._network.cls.predictions(hidden[:, 0])  # (copies, vocabulary)
        return cross_entropy(logits, wanted, reduction="none").double().numpy()


class LeftToRightScorer:
    """Scores sentences by the chain rule, each token given those before it; what is longer than an input, in pieces."""

    pseudo = False

    def __init__(self, folder: Path) -> None:
        network: Any = load_pretrained(folder)
        self._network = network.eval()
        self._tokenizer = read_tokenizer(folder)
        self._room = int(network.config.max_position_embeddings) - 1
        self._cls, self._sep, self._unknown = (
            token_id(self._tokenizer, token) for token in ("[CLS]", "[SEP]", "[UNK]")
        )

    def score(self, sentences: Sequence[str]) -> Scores:
        """Minus the sum of log P(token | the tokens before it), the end included, a sentence."""
        encodings = self._tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
        wanted = [np.array([*encoding.ids, self._sep], np.int64) for encoding in encodings]
        pieces = [
            (number, ids[start : start + self._room])
            for number, ids in enumerate(wanted)
            for start in range(0, len(ids), self._room)
        ]
        owners = np.array([number for number, _ in pieces], np.int64)
        targets = Ragged.from_rows([ids for _, ids in pieces], np.int64)
        inputs = Ragged.from_rows([[self._cls, *ids[:-1]] for _, ids in pieces], np.int64)
        order = np.argsort(targets.lengths, kind="stable")
        nats = np.zeros(len(sentences))
        with deterministic(threads=1), torch.inference_mode():
            start = 0
            while start < len(order):
                size = max(1, _TOKENS_PER_BATCH // int(targets.lengths[order[start]]))
                rows = order[start : start + size]
                np.add.at(nats, owners[rows], self._surprise(inputs, targets, rows))
                start += size
        return Scores(
            nats=nats,
            num_predictions=np.array([len(ids) for ids in wanted], np.int64),
            num_unknown=np.array([int((ids == self._unknown).sum()) for ids in wanted], np.int64),
        )

    def _surprise(self, inputs: Ragged, targets: Ragged, rows: Ints) -> npt.NDArray[np.float64]:
        """Minus log P of each row's targets, added up."""
        ids, wanted = (torch.from_numpy(of.padded(rows, fill)) for of, fill in ((inputs, 0), (targets, -1)))
        tensors = {"input_ids": ids, "attention_mask": wanted >= 0, "token_type_ids": torch.zeros_like(ids)}
        hidden = encode(self._network.bert, tensors)
        nats = torch.zeros(ids.shape, dtype=torch.float64)
        for row, inside in enumerate(wanted >= 0):  # one at a time: the scores of all words are large
            logits = self._network.cls.predictions(hidden[row, inside])
            nats[row, inside] = cross_entropy(logits, wanted[row, inside], reduction="none").double()
        return nats.sum(1).numpy()


def load_scorer(folder: Path) -> BertScorer | LeftToRightScorer:
    """Load what `pretrain` wrote, for scoring."""
    one_way = (
        read_json(folder / "config.json").get("is_decoder", False) if (folder / "config.json").is_file() else False
    )
    return LeftToRightScorer(folder) if one_way else BertScorer(folder)
