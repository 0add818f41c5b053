"""Corpora made from a seed: as much distinct text as a test asks for."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from stemma.config import Params
from stemma.data.documents import DOCUMENT_SCHEMA, Document, RowGroupWriter, document_row

PROJECT = Path(__file__).parent.parent
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in ("a", "e", "i", "o", "u", "ai", "or", "en")]


def params(**changes: Any) -> Params:
    """The project's own settings with one corpus `toy` and two small tokenizers, and other values for some sections."""
    values: dict[str, Any] = yaml.safe_load((PROJECT / "params.yaml").read_text())
    bundled = {"kind": "bundled", "name": "wikipedia-sample", "licence": "CC BY-SA 3.0"}
    values["corpora"] = {"toy": {"kind": "documents", "sources": {"bundled": bundled}}}
    tokenizer = {"corpus": "toy", "vocabulary_size": 2000, "min_frequency": 2, "lowercase": True}
    values["tokenizers"] = {kind: {**tokenizer, "kind": kind} for kind in ("wordpiece", "word")}
    values |= {"variants": {}, "tasks": {}, "pairs": {}}
    values["release"]["floors"] = {}
    return Params.model_validate(values | changes)


@cache
def make_lexicon(size: int) -> npt.NDArray[np.str_]:
    """So many different words, short ones first."""
    syllables = np.random.default_rng(0).choice(SYLLABLES, (4 * size, 4))
    lengths = np.sort(np.random.default_rng(1).integers(1, 5, 4 * size))
    words = dict.fromkeys("".join(row[:length]) for row, length in zip(syllables, lengths, strict=True))
    return np.array(list(words)[:size])


def texts(count: int, seed: int = 1, sentences: int = 30, words: int = 20_000) -> Iterator[str]:
    """Distinct documents of three paragraphs, about 90 characters a sentence, of words whose counts follow Zipf's law."""
    rng, lexicon = np.random.default_rng(seed), make_lexicon(words)
    for _ in range(count):
        lengths = rng.integers(6, 24, sentences)
        drawn = lexicon[np.minimum(rng.zipf(1.3, int(lengths.sum())) - 1, rng.integers(0, words, int(lengths.sum())))]
        lines, begin = [], 0
        for number, length in enumerate(lengths.tolist()):
            line = " ".join(drawn[begin : begin + length]).capitalize()
            lines.append(line + (".\n\n" if number % 10 == 9 else ". "))
            begin += length
        yield "".join(lines).strip()


def write_documents(folder: Path, documents: Iterator[str] | list[str], keys: list[str] | None = None) -> None:
    """A corpus folder as `ingest` and `validate` leave it."""
    with RowGroupWriter(folder, "documents", DOCUMENT_SCHEMA) as writer:
        for number, text in enumerate(documents):
            key = keys[number] if keys else str(number)
            writer.write(document_row(Document(key=key, title=key, text=text), "toy", "CC0"), len(text))
