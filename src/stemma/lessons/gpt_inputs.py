"""GPT's inputs: what the texts of four kinds of questions become, by the code that fine-tuning runs (Radford et al. 2018)."""

from collections.abc import Iterator, Sequence
from typing import Final

import torch
from torch import Tensor

from stemma.families.gpt.inputs import Marks, last_places, marked, swapped

__all__ = ["CHOICES", "ENTAILMENT", "REVIEW", "SIMILARITY", "as_read", "explain"]

REVIEW: Final = "a film to remember"
ENTAILMENT: Final = ("a man plays the guitar", "a man makes music")  # premise and hypothesis
SIMILARITY: Final = ("how old are you", "what is your age")
CHOICES: Final = ("she opens the umbrella because", ("it rains", "it is lunch time", "the cat sleeps"))
_FRAME: Final = ("[PAD]", "[CLS]", "[SEP]")


def explain() -> Iterator[str]:
    """The four transformations, one after the other."""
    yield "Every text of a task comes as [CLS] A [SEP] or [CLS] A [SEP] B [SEP]. GPT reads from left to right: it gets start for"
    yield "[CLS], delimiter between two texts, and extract for the last [SEP], three tokens with vectors of their own; at"
    yield "extract everything has been read, so that is where the answer is taken."
    yield ""
    yield "Classification: one text. The answer is softmax(h_extract W_y)."
    yield from _shown([as_read(REVIEW)])
    yield "Entailment: the premise, then the hypothesis."
    yield from _shown([as_read(*ENTAILMENT)])
    yield "Similarity: neither text comes first, so both orders are read, and the two states at extract are added."
    yield from _shown([as_read(*SIMILARITY), as_read(*SIMILARITY, other_order=True)])
    context, answers = CHOICES
    yield "Multiple choice: the context with each choice. Each state at extract gives one score, h_extract w; a softmax over the"
    yield f"{len(answers)} scores chooses."
    yield from _shown([as_read(context, answer) for answer in answers])
    yield "Where inputs of a batch are padded, on either side, the answer is read at the last token that is none:"
    for side in ("right", "left"):
        yield from _padded([(REVIEW,), ENTAILMENT], side)


def as_read(first: str, second: str | None = None, *, other_order: bool = False) -> list[str]:
    """The tokens that the network gets for one text or two, words between spaces."""
    texts = [first] if second is None else [first, second]
    vocabulary = _vocabulary(texts)
    ids, inside, types = _batch([texts], vocabulary, "right")
    if other_order:
        ids = swapped(ids, inside, types)
    return _names(marked(ids, inside, _marks(vocabulary)), vocabulary)[0]


def _shown(inputs: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from (f"  {' '.join(tokens)}" for tokens in inputs)
    yield ""


def _padded(rows: Sequence[Sequence[str]], side: str) -> Iterator[str]:
    vocabulary = _vocabulary([text for row in rows for text in row])
    ids, inside, _ = _batch(rows, vocabulary, side)
    places = last_places(inside).tolist()
    names = _names(marked(ids, inside, _marks(vocabulary)), vocabulary)
    for tokens, place in zip(names, places, strict=True):
        yield f"  padded on the {side}: {' '.join(tokens)}: read at column {place}, {tokens[place]}"


def _vocabulary(texts: Sequence[str]) -> dict[str, int]:
    words = dict.fromkeys([*_FRAME, *(word for text in texts for word in text.split())])
    return {word: number for number, word in enumerate(words)}


def _marks(vocabulary: dict[str, int]) -> Marks:
    return Marks.behind(len(vocabulary), vocabulary["[CLS]"], vocabulary["[SEP]"])


def _batch(rows: Sequence[Sequence[str]], vocabulary: dict[str, int], side: str) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, 1 where a token stands, and 1 from B on: as a task's features come."""
    framed = []
    for row in rows:
        tokens = ["[CLS]", *row[0].split(), "[SEP]"]
        second = [*row[1].split(), "[SEP]"] if len(row) > 1 else []
        ids = [vocabulary[token] for token in [*tokens, *second]]
        framed.append((ids, [1] * len(ids), [0] * len(tokens) + [1] * len(second)))
    width = max(len(ids) for ids, _, _ in framed)
    columns = [
        [[0] * (width - len(part)) + part if side == "left" else part + [0] * (width - len(part)) for part in parts]
        for parts in framed
    ]
    tensor = torch.tensor(columns)  # (rows, 3, width)
    return tensor[:, 0], tensor[:, 1], tensor[:, 2]


def _names(ids: Tensor, vocabulary: dict[str, int]) -> list[list[str]]:
    names = [*vocabulary, "start", "delimiter", "extract"]
    return [[names[id_] for id_ in row] for row in ids.tolist()]
