"""`stemma score`: how surprised a pretrained model is by each line of a text, and by all of it."""

import math
from collections.abc import Iterator
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any

from stemma.data.lines import read_lines
from stemma.errors import InputError
from stemma.families import load_family
from stemma.families.base import Family
from stemma.files import read_json
from stemma.protocols import Scorer, Scores
from stemma.tasks.language import Figures, add_up, figures_of, score_batches

__all__ = ["STANDARD_INPUT", "describe_scores", "family_of", "load_model_scorer"]

STANDARD_INPUT = Path("/dev/stdin")


def describe_scores(model: Path, file: Path | None) -> Iterator[str]:
    """A row for every line that is not blank (None: of standard input), and what they come to."""
    name = "standard input" if file is None else str(file)
    lines = ((number, line) for number, line in read_lines(file or STANDARD_INPUT, name) if line.strip())
    first = next(lines, None)  # a file that can't be read is said before a model is loaded
    if first is None:
        raise InputError(f"{name}: no text in it")
    scorer = load_model_scorer(model)
    pseudo = "pseudo-" if scorer.pseudo else ""
    numbered, texts = tee(chain([first], lines))
    parts: list[Figures] = []
    others: dict[str, float] = {}
    for batch, scores in score_batches(scorer, (text for _, text in texts)):
        if not parts:
            yield _header(pseudo, scores)
        parts.append(figures_of(scorer, batch, scores))
        others = {name: others.get(name, 0.0) + float(nats.sum()) for name, nats in scores.others.items()}
        for place, (number, text) in enumerate(islice(numbered, len(batch))):
            yield _row(number, text, pseudo, scores, place)
    total = add_up(parts)
    yield _describe_total(total, pseudo)
    for name, other in others.items():
        perplexity, bits = math.exp(other / total.tokens), other / math.log(2) / total.bytes
        yield f"{name}: {other:.4f} nats, perplexity {perplexity:.4f}, {bits:.4f} bits per byte"


def load_model_scorer(model: Path) -> Scorer:
    """The scorer of a pretrained model, whichever family it is of."""
    family = family_of(model)
    if family.load_scorer is None:
        raise InputError(f"{model}: family {family.name!r} gives no probabilities of sentences; use a language model")
    return family.load_scorer(model)


def family_of(model: Path) -> Family[Any]:
    """The family that a pretrained model's folder is of."""
    if not (model / "family.json").is_file():
        raise InputError(f"{model}: not a pretrained model's folder (family.json is missing); see models/pretrained")
    return load_family(read_json(model / "family.json")["family"])


def _header(pseudo: str, scores: Scores) -> str:
    others = "".join(f"  {name:>12}  {'bits/byte':>9}" for name in scores.others)
    bits = f"{pseudo}bits/byte".rjust(_bits_width(pseudo))
    return f"{'line':>6}  {pseudo + 'nats':>12}  {bits}  {'tokens':>6}  {'unknown':>7}{others}"


def _row(number: int, text: str, pseudo: str, scores: Scores, place: int) -> str:
    def bits(nats: float) -> float:
        return nats / math.log(2) / len(text.encode())

    nats, tokens, unknown = scores.nats[place], scores.num_predictions[place], scores.num_unknown[place]
    others = "".join(f"  {other[place]:12.4f}  {bits(other[place]):9.4f}" for other in scores.others.values())
    return f"{number:6}  {nats:12.4f}  {bits(nats):{_bits_width(pseudo)}.4f}  {tokens:6}  {unknown:7}{others}"


def _bits_width(pseudo: str) -> int:
    return len(f"{pseudo}bits/byte")


def _describe_total(figures: Figures, pseudo: str) -> str:
    begin = f"{figures.sentences:,} sentences, {figures.tokens:,} tokens, {figures.unknown:,} unknown:"
    if not figures.tokens:
        return f"{begin} nothing to predict"
    if figures.impossible:
        return f"{begin} {figures.impossible:,} sentences have probability 0, so that there is no perplexity"
    perplexity, bits = math.exp(figures.nats / figures.tokens), figures.nats / math.log(2) / figures.bytes
    nats = f"{figures.nats:.4f} {pseudo}nats"
    return f"{begin} {nats}, {pseudo}perplexity {perplexity:.4f}, {bits:.4f} {pseudo}bits per byte"
