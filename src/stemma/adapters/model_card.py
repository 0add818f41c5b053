"""A registered model's card: what it is, what made it, how good it is, and how to ask it."""

from collections.abc import Mapping

from stemma.config import OfflineTask, Params
from stemma.release.scorecard import Scorecard

__all__ = ["write_card"]


def write_card(params: Params, card: Scorecard, seed: int, facts: Mapping[str, str]) -> str:
    """The card as markdown with the Hub's metadata on top; `facts` are digests and ids that lead back to its making."""
    from huggingface_hub import EvalResult, ModelCardData

    pair = params.pairs[card.model]
    data = ModelCardData(
        language="en",
        license="other",
        library_name="transformers",
        tags=["stemma", pair.family, params.tasks[card.task].kind],
        model_name=card.model,
        eval_results=[
            EvalResult(
                task_type=params.tasks[card.task].kind,
                dataset_type=card.task,
                dataset_name=card.task,
                metric_type=card.metric,
                metric_value=round(card.mean, 4),
            )
        ],
    )
    return f"---\n{data.to_yaml()}\n---\n\n{_body(params, card, seed, facts)}"


def _body(params: Params, card: Scorecard, seed: int, facts: Mapping[str, str]) -> str:
    pair, task = params.pairs[card.model], params.tasks[card.task]
    variant = params.variants[params.pretrained_as(pair.variant)]
    sources = params.corpora[variant.corpus].sources
    scores = "\n".join(f"| {number} | {score:.4f} |" for number, score in card.seeds.items())
    own = (
        ", made by this project from its corpus and no public benchmark" if isinstance(task.source, OfflineTask) else ""
    )
    corpus = "\n".join(f"- {name}, licence: {source.licence}" for name, source in sources.items())
    history = "\n".join(f"- {name}: `{value}`" for name, value in facts.items())
    asked = {
        "classification": '{"text": "…"}',
        "regression": '{"text": "…", "text_pair": "…"}',
        "span": '{"context": "…", "question": "…"}',
        "tagging": '{"tokens": ["…"]}',
        "choice": '{"context": "…", "choices": ["…", "…"]}',
    }
    return f"""# {card.model}

Variant `{pair.variant}` of the family `{pair.family}`, fine-tuned on the task `{card.task}` ({task.kind}{own}).
{_labels(task.labels)}
## How good it is

`{card.metric}` on the task's test split: **{card.mean:.4f}**, {100 * card.confidence:.4g} % interval
[{card.low:.4f}, {card.high:.4f}] over {len(card.seeds)} seeds. Always giving the commonest answer scores {card.majority:.4f}.
These are the weights of seed {seed}, the one with the median validation score.

| seed | {card.metric} |
| --- | --- |
{scores}

## What it was trained on

Corpus `{variant.corpus}`:
{corpus}

It is as good as a small model on that text is; do not use it where a wrong answer does harm.

## How to ask it

```
echo '{asked[task.kind]}' | stemma predict models:/{card.model}@champion -
mlflow models serve --env-manager local -m models:/{card.model}@champion
```

## Where it comes from

{history}
"""


def _labels(labels: list[str]) -> str:
    return f"Answers: {', '.join(f'`{label}`' for label in labels)}.\n" if labels else ""
