"""`evaluate` on what the other stages really make: an n-gram model, a toy BERT, and fine-tuned toys of all kinds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.config import Params
from stemma.files import digest_tree, read_json
from stemma.progress import NullProgress
from stemma.stages import evaluate, finetune
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.metrics import score
from stemma.tasks.predictor import load_predictor
from stemma.training.tracker import NullTracker
from tests import toy_bert, toy_ngrams, toy_tasks

NUM_TEST = 50


def settings() -> Params:
    values = toy_tasks.params().model_dump()
    values["variants"] = {name: values["variants"][name] for name in ("ngram", "bert")}
    values["probes"] = {}
    values["evaluation"] |= {"bootstrap_draws": 300, "pseudo_perplexity_sentences": 10}
    return Params(**values)


def write_corpus(folder: Path) -> None:
    rng = np.random.default_rng(5)
    for split, count in (("train", 30), ("test", 6)):
        rows = [
            {"id": f"{split}-{i}", "source": "s", "sentences": [toy_bert.sentence(rng, 6) for _ in range(5)]}
            for i in range(count)
        ]
        (folder / split).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows), folder / split / "part-00000.parquet")


def write_ngram(folder: Path, corpus: Path) -> None:
    sentences = [text for texts in pq.read_table(corpus / "train")["sentences"].to_pylist() for text in texts]
    words = sorted({word for sentence in sentences[:100] for word in sentence.split()})
    tokens, tokenizer = toy_ngrams.save_corpus(folder.parent / "toy", words, sentences, sentences[:10])
    toy_ngrams.pretrain(tokens, tokenizer, toy_ngrams.settings("kneser-ney", 3), folder)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All inputs of the stage."""
    root, params = tmp_path_factory.mktemp("project"), settings()
    write_corpus(root / "clean" / params.variants["bert"].corpus)
    toy_tasks.write_pretrained(root / "toy-bert").rename(root / "bert")
    (root / "pretrained").mkdir()
    (root / "bert").rename(root / "pretrained" / "bert")
    write_ngram(root / "pretrained" / "ngram", root / "clean" / params.variants["ngram"].corpus)
    rng = np.random.default_rng(9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEMMA_SCRATCH", str(root / "scratch"))
        for name, pair in params.pairs.items():
            task = toy_tasks.write_task(root / "tasks" / pair.task, pair.task)
            rows = [toy_tasks.make_row(pair.task, 1000 + i, rng) for i in range(NUM_TEST)]
            test = pa.Table.from_pylist(rows, schema=ROW_SCHEMAS[params.tasks[pair.task].kind])
            finetune.run(
                name,
                params,
                NullTracker(),
                NullProgress(),
                pretrained=root / "pretrained" / "bert",
                task=task,
                out=root / "finetuned" / name,
            )
            pq.write_table(test, task / "test.parquet")
    return root


def run(project: Path) -> dict[str, Any]:
    evaluate.run(
        settings(),
        NullProgress(),
        corpora=project / "clean",
        tasks=project / "tasks",
        probes=project / "probes",
        pretrained=project / "pretrained",
        finetuned=project / "finetuned",
        out=project / "report",
        predictions=project / "predictions",
        leaderboard=project / "leaderboard.json",
    )
    metrics: dict[str, Any] = read_json(project / "report" / "metrics.json")
    return metrics


@pytest.fixture(scope="module")
def metrics(project: Path) -> dict[str, Any]:
    return run(project)


def test_both_families_are_scored_on_the_same_sentences(metrics):
    ngram, bert = metrics["language_models"]["ngram"], metrics["language_models"]["bert"]
    assert (ngram["likelihood"], bert["likelihood"]) == ("exact", "pseudo")
    assert ngram["sample"]["sentences"] == bert["sample"]["sentences"] == 10
    assert ngram["sample"]["bytes"] == bert["sample"]["bytes"]
    assert ngram["test"]["sentences"] == 30
    assert 1 < ngram["test"]["perplexity"] < 1000
    assert 0 < ngram["test"]["unknown_rate"] < 1
    assert bert["sample"]["pseudo_perplexity"] == pytest.approx(27, rel=0.3)  # untrained: near the vocabulary's size


def test_reported_scores_are_those_of_the_models_on_all_test_rows(project, metrics):
    params = settings()
    for name, pair in params.pairs.items():
        task = params.tasks[pair.task]
        test = pq.read_table(project / "tasks" / pair.task / "test.parquet", schema=ROW_SCHEMAS[task.kind])
        reported = metrics["tasks"][pair.task]["rows"]["bert"]["seeds"]
        for seed, value in zip((1, 2), reported, strict=True):
            predictions = load_predictor(project / "finetuned" / name / f"seed-{seed}").predict(test)
            assert score(task.kind, test, predictions, task.labels)[task.metric] == pytest.approx(value, abs=1e-6)


def test_again_gives_the_same_bytes(project, metrics):
    folders = [project / "report", project / "predictions"]
    before = digest_tree(folders)
    assert run(project) == metrics
    assert digest_tree(folders) == before


def test_a_damaged_model_is_not_scored(project, metrics):
    from stemma.errors import CorruptionError

    report = (project / "report" / "metrics.json").read_text()
    path = project / "finetuned" / "bert-first" / "seed-1" / "task.json"
    whole = path.read_text()
    path.write_text(whole.replace('"seed": 1', '"seed": 2'))
    try:
        with pytest.raises(CorruptionError, match=r"seed-1/task\.json: bytes do not match the manifest"):
            run(project)
    finally:
        path.write_text(whole)
    assert (project / "report" / "metrics.json").read_text() == report
    assert json.loads(report) == metrics
