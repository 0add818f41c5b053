"""BLiMP's JSON lines (Warstadt et al. 2020): pairs of sentences of which one is acceptable, a file a paradigm.

A model is right where it finds the acceptable sentence more probable. There is nothing to train on: what has a
likelihood is asked as it is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from stemma.data.input_files import InputFile
from stemma.data.lines import check_text, read_json_lines
from stemma.errors import InputError

__all__ = ["NUM_PAIRS", "NUM_PARADIGMS", "MinimalPair", "PairCount", "read_blimp"]

NUM_PARADIGMS: Final = 67
NUM_PAIRS: Final = 1000  # of each

_FIELDS: Final = ("sentence_good", "sentence_bad", "UID", "linguistics_term", "pairID")
_METHODS: Final = (
    "simple_LM_method",
    "one_prefix_method",
    "two_prefix_method",
)  # BLiMP's own lines say which they suit
_SHOWN: Final = 5  # of the paradigms of another size, those that are named


@dataclass(frozen=True, kw_only=True)
class MinimalPair:
    """Two sentences that differ in one point of grammar."""

    id: str  # its paradigm and its number there
    paradigm: str  # such as `adjunct_island`
    phenomenon: str  # what the paradigm is of, such as `island_effects`
    good: str
    bad: str


@dataclass
class PairCount:
    """How many pairs of each paradigm there are in lines that look like BLiMP's own; a set of one's own has no count."""

    paradigms: Counter[str] = field(default_factory=Counter)

    def add(self, paradigm: str, record: dict[str, object]) -> None:
        """Count a pair, if its line has what BLiMP's lines have."""
        self.paradigms[paradigm] += all(name in record for name in _METHODS)

    def warnings(self) -> list[str]:
        """What differs from what was published, in words."""
        found = +self.paradigms
        if not found:
            return []
        said = []
        if len(found) != NUM_PARADIGMS:
            said.append(f"{len(found)} paradigms of BLiMP, but {NUM_PARADIGMS} were published")
        other = [f"{name} {pairs:,}" for name, pairs in found.items() if pairs != NUM_PAIRS]
        if other:
            named = ", ".join(other[:_SHOWN])
            said.append(f"{len(other)} paradigms of BLiMP have other than the {NUM_PAIRS:,} pairs published: {named}")
        return said


def read_blimp(files: Iterable[InputFile], count: PairCount | None = None) -> Iterator[MinimalPair]:
    """The pairs of some files, plain or compressed, in their order; a pair that stands there twice is an error.

    How many there are of BLiMP's own is added to `count`.
    """
    seen: dict[str, str] = {}
    for file in files:
        found = 0
        for number, record in read_json_lines(file.path, file.name):
            where = f"{file.name}:{number}"
            pair = _pair(record, where)
            if pair.id in seen:
                raise InputError(f"{where}: pair {pair.id!r} stands at {seen[pair.id]} already")
            seen[pair.id] = where
            found += 1
            if count is not None:
                count.add(pair.paradigm, record)
            yield pair
        if not found:
            raise InputError(f"{file.name}: no pairs in the file")


def _pair(record: dict[str, object], where: str) -> MinimalPair:
    missing = [name for name in _FIELDS if name not in record]
    if missing:
        raise InputError(f"{where}: no {missing[0]!r}; expected a pair of BLiMP with {', '.join(_FIELDS)}")
    good, bad, paradigm, phenomenon = (check_text(record[name], f"{where}: {name!r}") for name in _FIELDS[:4])
    for name, text in (("sentence_good", good), ("sentence_bad", bad), ("UID", paradigm)):
        if not text.strip():
            raise InputError(f"{where}: {name!r} is empty")
    return MinimalPair(
        id=f"{paradigm}-{record['pairID']}", paradigm=paradigm, phenomenon=phenomenon, good=good, bad=bad
    )
