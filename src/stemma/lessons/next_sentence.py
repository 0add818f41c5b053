"""Next-sentence prediction: a pair of sentences that follow each other, and one that does not, as BERT gets them."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from stemma.data.token_store import TokenStore, TokenStoreWriter
from stemma.families.bert.data import SentencePairs
from stemma.lessons.masked_lm import make_tokenizer

__all__ = ["DOCUMENTS", "Example", "examples", "explain"]

DOCUMENTS: Final = (("the man went to the store", "he bought a gallon of milk"), ("penguins are flightless birds",))
_PIECES: Final = (
    *("the", "man", "went", "to", "store", "he", "bought", "a", "gallon", "of", "milk"),
    *("penguin", "##s", "are", "flight", "##less", "birds"),
)
_HIDDEN: Final = {"IsNext": (5, 12), "NotNext": (3, 9)}  # positions, as the paper has them


@dataclass(frozen=True)
class Example:
    """What goes into the network, and what is asked of it."""

    label: str
    tokens: Sequence[str]
    segments: Sequence[str]
    hidden: Sequence[str]  # the words to predict

    @property
    def positions(self) -> Sequence[int]:
        """Where each token stands."""
        return range(len(self.tokens))


def examples() -> list[Example]:
    """The first pair of each kind that the training data path draws, with the paper's words hidden."""
    tokenizer = make_tokenizer(_PIECES)
    found: dict[str, Example] = {}
    with tempfile.TemporaryDirectory() as folder:
        special = {f"{name}_id": tokenizer.token_to_id(f"[{name.upper()}]") or 0 for name in ("cls", "sep", "pad")}
        pairs = SentencePairs(_write_store(Path(folder)), max_length=32, **special, seed=1)
        for epoch in range(64):
            built = pairs.build(np.array([0]), epoch)
            length = int(built.lengths[0])
            label = "NotNext" if built.is_random[0] else "IsNext"
            tokens = [tokenizer.id_to_token(id_) or "" for id_ in built.ids[0, :length].tolist()]
            hidden = [tokens[place] for place in _HIDDEN[label]]
            for place in _HIDDEN[label]:
                tokens[place] = "[MASK]"
            segments = ["AB"[type_] for type_ in built.types[0, :length].tolist()]
            found.setdefault(label, Example(label, tokens, segments, hidden))
    return [found["IsNext"], found["NotNext"]]


def explain() -> Iterator[str]:
    """Both examples, with the three inputs of every token."""
    yield "Two documents: " + "; ".join(". ".join(sentences) for sentences in DOCUMENTS) + "."
    yield "A is a sentence and B what follows it or, for one half of the pairs, a sentence of another document."
    for example in examples():
        yield ""
        yield f"{example.label}: {' '.join(example.tokens)}"
        widths = [max(len(token), 2) + 1 for token in example.tokens]
        for name, cells in (
            ("token", example.tokens),
            ("segment", example.segments),
            ("position", example.positions),
        ):
            yield (
                f"  {name:<9}"
                + "".join(f"{cell!s:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
            )
        yield f"  asked: at [CLS] {example.label}, at the hidden places {' and '.join(example.hidden)}"


def _write_store(folder: Path) -> TokenStore:
    tokenizer = make_tokenizer(_PIECES)
    with TokenStoreWriter(folder, np.dtype(np.uint16)) as writer:
        for sentences in DOCUMENTS:
            ids = [tokenizer.encode(sentence, add_special_tokens=False).ids for sentence in sentences]
            lengths = np.array([len(sentence) for sentence in ids], np.int64)
            writer.add(np.array([id_ for sentence in ids for id_ in sentence], np.uint16), lengths, 0)
    return TokenStore.open(folder)
