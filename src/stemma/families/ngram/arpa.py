"""N-gram models as ARPA text, which KenLM, SRILM and others read.

ARPA knows backing off: a listed n-gram has a probability, any other its context's backoff times the probability of its
suffix. All smoothings here have that form but maximum likelihood, whose zeros it can't say: in a context that was never
seen, a reader would back off.
"""

import gzip
import io
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt

from stemma.errors import InputError
from stemma.families.ngram.model import NgramModel
from stemma.files import atomic_path, verify_manifest
from stemma.text.vocabulary import load_tokenizer

__all__ = ["export_arpa"]

_BLOCK = 1 << 16
_ZERO = -99.0  # what ARPA files say for the logarithm of 0


def export_arpa(model_dir: Path, path: Path) -> None:
    """Write a model as ARPA text, compressed if `path` ends in `.gz`; the bytes depend on the model alone."""
    verify_manifest(model_dir)
    model = NgramModel.open(model_dir)
    if not model.backs_off:
        raise InputError(f"{model_dir}: a maximum-likelihood model has no ARPA form; choose another smoothing")
    words = _spellings(model, model_dir)
    with atomic_path(path) as temporary, temporary.open("wb") as raw, ExitStack() as stack:
        packed = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0)) if path.suffix == ".gz" else raw
        file = stack.enter_context(io.TextIOWrapper(packed, encoding="utf-8", newline="\n"))
        _write(model, words, file)


def _spellings(model: NgramModel, model_dir: Path) -> npt.NDArray[np.object_]:
    """The words by id, with the names that ARPA readers know for the unknown word and the ends of a sentence."""
    vocabulary = load_tokenizer(model_dir, segmented=True).get_vocab(with_added_tokens=True)
    symbols = model.symbols
    words = np.full(symbols.size, "", dtype=object)
    for word, number in vocabulary.items():
        words[number] = word
    words[[symbols.begin, symbols.end, symbols.unknown]] = "<s>", "</s>", "<unk>"
    listed = words[symbols.events].tolist()
    for name in ("<s>", "</s>", "<unk>"):
        if listed.count(name) > (name != "<s>"):
            raise InputError(
                f"{model_dir}: the vocabulary has a word {name!r}, which ARPA files use for something else"
            )
    return words


def _write(model: NgramModel, words: npt.NDArray[np.object_], file: TextIO) -> None:
    listed = np.flatnonzero(model.symbols.events | (np.arange(model.symbols.size) == model.symbols.begin))
    sizes = [len(listed), *(model.size(order) for order in range(2, model.order + 1))]
    file.write("\\data\\\n")
    file.writelines(f"ngram {order}={size}\n" for order, size in enumerate(sizes, start=1))
    for order, size in enumerate(sizes, start=1):
        file.write(f"\n\\{order}-grams:\n")
        for start in range(0, size, _BLOCK):
            nodes = np.arange(start, min(start + _BLOCK, size))
            file.writelines(_lines(model, words, order, listed[nodes] if order == 1 else nodes))
    file.write("\n\\end\\\n")


def _lines(
    model: NgramModel, words: npt.NDArray[np.object_], order: int, nodes: npt.NDArray[np.int64]
) -> Iterator[str]:
    probabilities = _log10(model.values("probabilities", order)[nodes])
    spelt = [words[column].tolist() for column in model.words(order, nodes)]
    ngrams = (" ".join(ngram) for ngram in zip(*spelt, strict=True))
    if order == model.order:
        return (f"{p:.7f}\t{ngram}\n" for p, ngram in zip(probabilities, ngrams, strict=True))
    backoffs = _log10(model.values("backoffs", order)[nodes])
    return (f"{p:.7f}\t{ngram}\t{b:.7f}\n" for p, ngram, b in zip(probabilities, ngrams, backoffs, strict=True))


def _log10(values: npt.NDArray[np.float32]) -> list[float]:
    wide = np.minimum(values.astype(np.float64), 1.0)  # rounding may have left a bit more than 1
    logarithms = np.full(len(wide), _ZERO)
    np.log10(wide, out=logarithms, where=wide > 0)
    return logarithms.tolist()
