"""What the papers' ablations did, as data: a change of settings, and by how much each benchmark moved, in points of 100.

An effect is what the changed model scores less what the unchanged one does. Where none of our tasks is a benchmark of the
paper, the headline stands for it: the effect that the paper is known by, on its own task.

Most are of one family, whose other settings are then the same. One of two families is of any two models of these that have the
settings that it names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = ["EFFECTS", "PERPLEXITY", "Effect", "effect_of", "other_budget"]

PERPLEXITY: Final = "perplexity"  # of test text, in place of a benchmark: not points, and less is better
_BUDGET: Final = ("steps", "epochs")  # which an equal CPU budget sets for each variant by what its steps cost


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One published ablation."""

    family: str
    what: str
    before: Mapping[str, Any]  # what these settings must be in the unchanged model
    after: Mapping[str, Any]  # and in the changed one, which is equal in all others
    source: str
    sizes: Mapping[str, float | None]  # by benchmark, or a half of it; none: the sign alone is known, see `sign`
    headline: tuple[str, float]  # on what, and how much
    sign: int = 0  # of what no size is known of
    instead_of: str | None = None  # the unchanged model's family, where it is another
    again: float | None = None  # how much it was in a second implementation, where the source has two
    asked: Literal["tasks", "analogies"] = "tasks"  # what shows it, if not perplexity


def effect_of(base: str, before: Mapping[str, Any], family: str, after: Mapping[str, Any]) -> Effect | None:
    """The published effect of the change from one variant's family and settings to another's, if there is one.

    How long the two were trained is no change, unless one was not trained at all or the effect is of that.
    """
    for effect in EFFECTS:
        if (effect.instead_of or effect.family, effect.family) != (base, family):
            continue
        if not (_is(effect.before, before) and _is(effect.after, after)):
            continue
        if effect.instead_of or _is_all(_changes(effect), before, after):
            return effect
    return None


def other_budget(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """How long the changed model was trained against the unchanged one, where both were and it is not the same."""
    told = [
        f"{after[key]:,} against {before[key]:,} {key}"
        for key in _BUDGET
        if before.get(key) and after.get(key) and before[key] != after[key]
    ]
    return f"as under an equal CPU budget: {', '.join(told)}" if told else ""


def _changes(effect: Effect) -> set[str]:
    return {key for key in effect.after if key not in effect.before or effect.before[key] != effect.after[key]}


def _is_all(wanted: set[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two models of one family differ in nothing else, but for how long they were trained."""
    changed = {key for key in before if before[key] != after.get(key)}
    budget = {key for key in _BUDGET if key in changed and before[key] and after.get(key)}
    return changed - (budget - wanted) == wanted


def _is(wanted: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    return all(settings.get(key) == value for key, value in wanted.items())


_BERT: Final = "Devlin et al. 2019"
_GPT: Final = "Radford et al. 2018, Table 5"
_MIKOLOV: Final = "Mikolov 2012, Table 4.1, Penn Treebank"
_MASKED: Final = {"mask_token_share": 0.8, "random_token_share": 0.1}
_BOTH: Final = {"direction": "both", "bilstm": False}
_LEFT: Final = {"direction": "left-to-right", "bilstm": False, "next_sentence": False}


def _masking(what: str, mask: float, random: float, mnli: float, ner: float) -> Effect:
    """A row of Table 8, less its first; only the shares that differ from 80 / 10 / 10 are a change."""
    return Effect(
        family="bert",
        what=f"of the hidden tokens {what}",
        before=_MASKED,
        after={"mask_token_share": mask, "random_token_share": random},
        source=f"{_BERT}, Table 8",
        sizes={"mnli": mnli, "conll2003": ner},
        headline=("CoNLL-2003", ner),
    )


def _features(what: str, features: str, ner: float) -> Effect:
    """A row of Table 7: dev, with document context."""
    return Effect(
        family="bert",
        what=f"a frozen encoder with a BiLSTM on {what}",
        before={"tune": "whole", "bilstm": False, "features": "last"},
        after={"tune": "frozen", "bilstm": True, "features": features},
        source=f"{_BERT}, Table 7",
        sizes={"conll2003": ner},
        headline=("CoNLL-2003", ner),
    )


EFFECTS: Final = (
    Effect(
        family="bert",
        what="no pretraining",
        before={},
        after={"steps": 0},
        source="Geiping and Goldstein 2022",
        sizes={
            "mnli": -49.1,
            "mnlimm": -49.3,
            "sst2": -12.0,
            "stsb": -68.9,
            "rte": -11.9,
            "qnli": -40.6,
            "qqp": -19.1,
            "mrpc": -11.4,
            "cola": -56.5,
        },
        headline=("GLUE's average", -35.4),
    ),
    Effect(
        family="gpt",
        what="no pretraining",
        before={},
        after={"steps": 0},
        source=_GPT,
        sizes={
            "cola": -26.5,
            "sst2": -7.3,
            "mrpc": -2.9,
            "stsb": -51.1,
            "qqp": -4.8,
            "mnli": -6.1,
            "qnli": -16.9,
            "rte": -2.2,
        },
        headline=("the paper's average", -14.8),
    ),
    Effect(
        family="gpt",
        what="no auxiliary language model",
        before={},
        after={"auxiliary_weight": 0.0},
        source=_GPT,
        sizes={
            "cola": 2.5,
            "sst2": 0.7,
            "mrpc": 2.6,
            "stsb": 1.2,
            "qqp": -0.5,
            "mnli": -0.7,
            "qnli": -1.2,
            "rte": -1.6,
        },
        headline=("the paper's average", 0.3),
    ),
    Effect(
        family="gpt",
        what="an LSTM in the Transformer's place",
        before={"block": "transformer"},
        after={"block": "lstm"},
        source=_GPT,
        sizes={
            "cola": -15.1,
            "sst2": -0.8,
            "mrpc": 0.9,
            "stsb": -10.2,
            "qqp": -2.2,
            "mnli": -8.1,
            "qnli": -7.0,
            "rte": -1.4,
        },
        headline=("the paper's average", -5.6),
    ),
    Effect(
        family="bert",
        what="no next-sentence prediction",
        before={"next_sentence": True, **_BOTH},
        after={"next_sentence": False, **_BOTH},
        source=f"{_BERT}, Table 5",
        sizes={"mnli": -0.5, "qnli": -3.5, "mrpc": -0.2, "sst2": -0.1, "squad": -0.6},
        headline=("QNLI", -3.5),
    ),
    Effect(
        family="bert",
        what="left to right instead of both ways",
        before={"next_sentence": False, **_BOTH},
        after=_LEFT,
        source=f"{_BERT}, Table 5",
        sizes={"mnli": -1.8, "qnli": -0.6, "mrpc": -9.0, "sst2": -0.5, "squad": -10.1},
        headline=("SQuAD 1.1", -10.1),
    ),
    Effect(
        family="bert",
        what="left to right, and no next-sentence prediction",
        before={"next_sentence": True, **_BOTH},
        after=_LEFT,
        source=f"{_BERT}, Table 5",
        sizes={"mnli": -2.3, "qnli": -4.1, "mrpc": -9.2, "sst2": -0.6, "squad": -10.7},
        headline=("SQuAD 1.1", -10.7),
    ),
    Effect(
        family="bert",
        what="a BiLSTM on the left-to-right model",
        before=_LEFT,
        after={**_LEFT, "bilstm": True},
        source=f"{_BERT}, Table 5",
        sizes={"mnli": 0.0, "qnli": -0.2, "mrpc": -1.8, "sst2": -0.5, "squad": 7.1},
        headline=("SQuAD 1.1", 7.1),
    ),
    _masking("all become [MASK]", 1.0, 0.0, 0.1, -0.5),
    _masking("80 % become [MASK], 20 % any word", 0.8, 0.2, -0.1, -0.2),
    _masking("80 % become [MASK], 20 % stay", 0.8, 0.0, 0.2, -0.2),
    _masking("20 % stay, 80 % become any word", 0.0, 0.8, -0.5, -0.6),
    _masking("all become any word", 0.0, 1.0, -0.6, -0.5),
    Effect(
        family="bert",
        what="a frozen encoder, its last layer as features",
        before={"tune": "whole"},
        after={"tune": "frozen"},
        source=f"{_BERT}, Table 7, with a BiLSTM on the features",
        sizes={"conll2003": -1.5},
        headline=("CoNLL-2003", -1.5),
    ),
    _features("its last layer", "last", -1.5),
    _features("the weighted sum of its last four layers", "sum-last-four", -0.5),
    _features("its last four layers side by side", "concat-last-four", -0.3),
    Effect(
        family="ngram",
        what="Laplace's smoothing instead of Kneser and Ney's",
        before={"smoothing": "kneser-ney"},
        after={"smoothing": "laplace"},
        source="far worse wherever both were tried",
        sizes={PERPLEXITY: None},
        headline=("perplexity", 0.0),
        sign=1,
    ),
    Effect(
        family="ngram",
        what="five words instead of three",
        before={"order": 3, "smoothing": "kneser-ney"},
        after={"order": 5, "smoothing": "kneser-ney"},
        source=_MIKOLOV,
        sizes={PERPLEXITY: -7.1},
        headline=("Penn Treebank's perplexity", -7.1),
    ),
    Effect(
        family="nnlm",
        instead_of="ngram",
        what="a network instead of counted sequences of five words",
        before={"order": 5, "smoothing": "kneser-ney"},
        after={},
        source=f"{_MIKOLOV}, the network in two implementations",
        sizes={PERPLEXITY: -1.0},
        headline=("Penn Treebank's perplexity", -1.0),
        again=0.6,
    ),
    Effect(
        family="fasttext",
        what="words made of their n-grams too",
        before={"min_n": 3, "max_n": 0},
        after={"min_n": 3, "max_n": 6},
        source="gensim's notebook on fastText, text8",
        sizes={"googleanalogies semantic": -5.97, "googleanalogies syntactic": 25.41},
        headline=("Google's analogies syntactic", 25.41),
        asked="analogies",
    ),
)
