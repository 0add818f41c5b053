"""Polysemy: is the bank of a river the bank that lends money? If a word has one vector, yes; if it has one in each context, see.

Sentences with "bank" and "play", each in two senses, are read by the models that have been pretrained. Of every sentence the
nearest other one is looked up, by the cosine of the word's vectors, and it is counted how often the word has the same sense
there. What models were trained on is what they know: those of the default run have read stories that have neither word.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stemma.errors import InputError
from stemma.families import load_family
from stemma.files import read_json
from stemma.protocols import Contextual
from stemma.text.vectors import WordVectors, unit

__all__ = ["SENTENCES", "Use", "explain", "nearest", "uses_of", "word_vectors"]

Senses = Mapping[str, Sequence[str]]
SENTENCES: Final[Mapping[str, Senses]] = {
    "bank": {
        "river": (
            "They sat on the bank of the river and watched the boats.",
            "The stream had washed away the bank where the trees stood.",
            "He pulled the boat up on the muddy bank of the lake.",
            "Along the south bank of the river lay fields and a small village.",
            "The water rose over the bank and flooded the road.",
            "Wild flowers grew on the steep bank above the water.",
        ),
        "money": (
            "She went to the bank to borrow money for the house.",
            "The bank lent the company ten million dollars.",
            "He kept his savings in a bank and lived on the interest.",
            "The government sold its shares in the national bank.",
            "A clerk of the bank counted the notes and signed the cheque.",
            "The bank failed and thousands of people lost their money.",
        ),
    },
    "play": {
        "sport": (
            "The team will play its next match against the league champions.",
            "He had to play the second half of the game with a broken finger.",
            "They play football every Saturday in the park.",
            "The coach let the young players play in the final of the cup.",
            "She began to play tennis at school and won the tournament.",
            "The club can not play at home this season.",
        ),
        "theatre": (
            "The play opened at a small theatre in London.",
            "He wrote a play in three acts about the king's death.",
            "The actors rehearsed the play on an empty stage.",
            "Critics praised the play and its author.",
            "She has the leading part in a play by Shakespeare.",
            "The last scene of the play made the audience weep.",
        ),
    },
}


@dataclass(frozen=True)
class Use:
    """A word in a sentence."""

    word: str
    sense: str
    sentence: str

    @property
    def span(self) -> tuple[int, int]:
        """Where the word stands."""
        found = re.search(rf"\b{self.word}\b", self.sentence)
        assert found is not None
        return found.span()


def uses_of(word: str) -> list[Use]:
    """All sentences with a word."""
    return [Use(word, sense, sentence) for sense, sentences in SENTENCES[word].items() for sentence in sentences]


def word_vectors(model: Contextual, uses: Sequence[Use]) -> npt.NDArray[np.float32]:
    """The word's vector in each sentence (uses, size): the mean of those of its tokens."""
    rows = []
    for use, read in zip(uses, model.read([use.sentence for use in uses]), strict=True):
        start, end = use.span
        inside = (read.spans[:, 0] < end) & (read.spans[:, 1] > start)
        rows.append(read.vectors[inside].mean(axis=0))
    return np.stack(rows)


def nearest(vectors: npt.NDArray[np.float32]) -> list[int]:
    """Of each row the other row whose cosine is highest."""
    units = unit(vectors)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -np.inf)
    return [int(place) for place in cosines.argmax(axis=1)]


def explain(pretrained: Path = Path("models/pretrained")) -> Iterator[str]:
    """Tell it line by line, by the models that are in a folder."""
    models = _open_models(pretrained)
    for word, senses in SENTENCES.items():
        uses = uses_of(word)
        chance = (len(uses) / len(senses) - 1) / (len(uses) - 1)
        yield f"'{word}' in {len(uses)} sentences, {' or '.join(senses)}. The nearest other sentence has the same sense:"
        found = {name: _neighbours(model, uses) for name, model in models.items()}
        for name, places in found.items():
            if isinstance(places, str):
                yield f"  {name:<18} {places}"
            else:
                same = sum(uses[place].sense == use.sense for place, use in zip(places, uses, strict=True))
                yield f"  {name:<18} {same:2} of {len(uses)}  {same / len(uses):4.0%}"
        yield f"  {'by chance':<18} {'':8} {chance:4.0%}"
        for name, places in found.items():
            if not isinstance(places, str):
                yield f"  {name}:"
                for sense in senses:
                    first = next(number for number, use in enumerate(uses) if use.sense == sense)
                    other = uses[places[first]]
                    yield f"    {uses[first].sentence} ({sense}) → {other.sentence} ({other.sense})"
        yield ""


def _neighbours(model: "Contextual | WordVectors", uses: Sequence[Use]) -> list[int] | str:
    """The nearest other use of each; or, where the word has one vector in all of them, what lies near that."""
    if not isinstance(model, WordVectors):
        return nearest(word_vectors(model, uses))
    word = uses[0].word
    if model.vector(word) is None:
        return f"has no vector for '{word}'"
    near = ", ".join(other for other, _ in model.neighbours(word, 5))
    return f"one vector in all of them; near it: {near}"


def _open_models(pretrained: Path) -> dict[str, "Contextual | WordVectors"]:
    """Those with vectors among the models in a folder, the static ones first."""
    static: dict[str, Any] = {}
    contextual: dict[str, Any] = {}
    for path in sorted(pretrained.glob("*/family.json")):
        family = load_family(read_json(path)["family"])
        if family.load_contextual is not None:
            contextual[path.parent.name] = family.load_contextual(path.parent)
        elif family.load_vectors is not None:
            static[path.parent.name] = family.load_vectors(path.parent)
    if not static | contextual:
        raise InputError(f"{pretrained}: no pretrained models with vectors there; run `dvc repro` first")
    return static | contextual
