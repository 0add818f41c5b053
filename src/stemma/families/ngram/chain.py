"""A sentence's probability as the lectures write it: a product of conditionals, each with the counts behind it.

P(w1 … wn) = P(w1 | <s>) · P(w2 | <s> w1) · … · P(</s> | … wn), where an n-gram model looks at no more than `order - 1` words
of what stands before. Only maximum likelihood divides the counts and leaves it at that.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from stemma.errors import InputError
from stemma.families.ngram.model import NgramModel
from stemma.families.ngram.windows import Ids, pad, windows
from stemma.files import read_json, verify_manifest
from stemma.text.vocabulary import load_tokenizer

__all__ = ["Factor", "describe_factors", "explain_sentence", "sentence_factors"]


@dataclass(frozen=True, kw_only=True)
class Factor:
    """P(word | context), and how often the context was seen with the word after it, and with any."""

    context: tuple[str, ...]
    word: str
    count: int
    context_count: int
    probability: float


def explain_sentence(model_dir: Path, sentence: str) -> Iterator[str]:
    """The factors of a sentence's probability under a pretrained model, as a table."""
    verify_manifest(model_dir)
    family = read_json(model_dir / "family.json")["family"]
    if family != "ngram":
        raise InputError(f"{model_dir}: a model of family {family!r} has no counts to show; give an n-gram model")
    factors = sentence_factors(NgramModel.open(model_dir), load_tokenizer(model_dir), sentence)
    return describe_factors(factors)


def sentence_factors(model: NgramModel, tokenizer: Tokenizer, sentence: str) -> list[Factor]:
    """The factors of a sentence's probability, one a word and one for its end."""
    ids = model.symbols.readable(np.array(tokenizer.encode(sentence, add_special_tokens=False).ids, np.int64))
    padded, starts = pad(ids, np.array([0, len(ids)]), model.symbols)
    columns = [column[1:] for column in windows(padded, starts, model.order, model.symbols.size)]
    probabilities = model.probabilities(columns).tolist()
    seen, contexts_seen = model.counts(columns), _context_counts(model, columns)
    words = [str(tokenizer.id_to_token(number)) for number in padded.tolist()]
    factors = []
    for place, probability in enumerate(probabilities):
        length = min(model.order - 1, place + 1)  # of the context
        factors.append(
            Factor(
                context=tuple(words[place + 1 - length : place + 1]),
                word=words[place + 1],
                count=int(seen[length][place]),
                context_count=int(contexts_seen[length][place]),
                probability=probability,
            )
        )
    return factors


def describe_factors(factors: Sequence[Factor]) -> Iterator[str]:
    """A table of factors, and their product."""
    yield f"{'count':>10} {'of':>10} {'probability':>12}"
    for factor in factors:
        given = f" | {' '.join(factor.context)}" if factor.context else ""
        conditional = f"P({factor.word}{given})"
        yield f"{factor.count:>10,} {factor.context_count:>10,} {factor.probability:>12.6g}  {conditional}"
    product = math.prod(factor.probability for factor in factors)
    words = " ".join(factor.word for factor in factors[:-1])
    yield f"{'product':>21} {product:>12.6g}  P({words})"


def _context_counts(model: NgramModel, columns: Sequence[Ids]) -> list[Ids]:
    """For each length of a context, from none, how often that of each window was seen."""
    counted = model.values("counts", 1)
    num_words = int(counted.sum()) - int(counted[model.symbols.begin])  # <s> is never predicted
    return [np.full(len(columns[0]), num_words), *(model.counts(columns[1:]) if model.order > 1 else [])]
