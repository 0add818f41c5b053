"""The stage `evaluate`, with a family and predictors that answer as told."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sacrebleu.metrics.bleu import BLEU

from stemma import families
from stemma.config import Params, Settings, load_params, parse_settings
from stemma.data.clean_documents import CLEAN_SCHEMA
from stemma.errors import CorruptionError, InputError, SettingsError
from stemma.families.base import Family
from stemma.files import digest_tree, write_manifest
from stemma.leaderboard.compare import compare_rows
from stemma.progress import NullProgress
from stemma.protocols import Scores
from stemma.stages import evaluate
from stemma.tasks.base import PREDICTION_SCHEMAS, ROW_SCHEMAS
from stemma.tasks.baselines import BASELINES
from stemma.tasks.metrics import score
from stemma.tasks.probes import probe_path, write_probe
from stemma.text.vectors import WordVectors, load_vectors, save_vectors
from stemma.text.vocabulary import learn_tokenizer, save_tokenizer

ROOT = Path(__file__).resolve().parents[3]
LABELS = {"order": ["bad", "good"], "cloze": [], "names": ["O", "B-PER", "I-PER"]}
NUM_TEST = 40


@dataclass(frozen=True)
class Uniform:
    """Every token is one of as many as the folder's file says."""

    choices: int
    pseudo: bool

    def score(self, sentences: Sequence[str]) -> Scores:
        tokens = np.array([len(sentence.split()) + 1 for sentence in sentences])
        return Scores(nats=tokens * np.log(self.choices), num_predictions=tokens, num_unknown=np.zeros_like(tokens))


def load_uniform(folder: Path) -> Uniform:
    return Uniform(**json.loads((folder / "model.json").read_text()))


def example(task: str, number: int) -> dict[str, Any]:
    """A row of which what is right follows from its number."""
    row: dict[str, Any] = {"id": f"{task}-{number}", "document": f"document-{number}"}
    if task == "order":
        text = f"word{number % 7} of line {number}"
        return row | {"text": text, "text_pair": None, "label": LABELS["order"][number % 3 == 0]}
    if task == "cloze":
        context = f"Some say that Ada{number} met Bob{number} there."
        return row | {
            "context": context,
            "question": f"Who met Bob{number}?",
            "answers": [{"text": f"Ada{number}", "start": 14}],
        }
    return row | {"tokens": ["Ada", f"name{number}", "sleeps"], "tags": ["B-PER", "I-PER", "O"]}


class Answering:
    """Right on a share of the rows, another one for each model; what it is given has no answers in it."""

    def __init__(self, folder: Path) -> None:
        settings = json.loads((folder / "model.json").read_text())
        self.name, self.share, self.seed = settings["task"], settings["share"], settings["seed"]
        self.task, self.tokenizer = SimpleNamespace(max_length=8), None

    def predict(self, rows: pa.Table, features: str, *, at_once: int, report: Callable[[int], None]) -> pa.Table:
        assert not {"label", "answers", "tags"} & set(rows.column_names)
        assert (features, at_once) == ("inputs", 256)
        report(len(rows))
        return pa.Table.from_pylist([self._answer(i) for i in rows["id"].to_pylist()], schema=self._schema())

    def _schema(self) -> pa.Schema:
        kind = {"order": "classification", "cloze": "span", "names": "tagging"}
        return PREDICTION_SCHEMAS[kind[self.name]]  # type: ignore[index]

    def _answer(self, row_id: str) -> dict[str, Any]:
        number = int(row_id.rsplit("-", 1)[1])
        row = example(self.name, number)
        right = (number * 17 + self.seed * 5) % 20 < self.share * 20
        if self.name == "order":
            label = row["label"] if right else next(name for name in LABELS["order"] if name != row["label"])
            return {"id": row_id, "label": label, "probabilities": [0.5, 0.5]}
        if self.name == "cloze":
            text = row["answers"][0]["text"] if right else "Some"
            return {"id": row_id, "text": text, "start": 0, "end": 0, "score": 1.0}
        return {"id": row_id, "tags": row["tags"] if right else ["O"] * 3}


def no_pretraining(_: object) -> dict[str, float]:
    raise NotImplementedError


UNIFORM = Family(
    name="uniform",
    params=Settings,
    pretrain=no_pretraining,
    steps=None,
    load_encoder=None,
    load_tuned=None,
    load_scorer=load_uniform,
    load_vectors=None,
)


@pytest.fixture(scope="module", autouse=True)
def family() -> Iterator[None]:
    module = ModuleType("stemma.families.uniform.family")
    module.FAMILY = UNIFORM  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)
        patch.setattr(families, "families", lambda: ["uniform"])
        patch.setattr(evaluate, "load_predictor", Answering)
        patch.setattr(evaluate, "encode_once", lambda *_: "inputs")
        yield


def settings(**changes: Any) -> Params:
    """The project's settings with the variants and tasks of this test."""
    values = load_params(ROOT / "params.yaml").model_dump()
    corpus = next(iter(values["corpora"]))
    source = next(task["source"] for task in values["tasks"].values() if task["source"]["kind"] == "offline")
    kinds = {"order": ("classification", "matthews"), "cloze": ("span", "f1"), "names": ("tagging", "entity_f1")}
    values["families"] = {"uniform": {}}
    values["variants"] = {
        name: {"family": "uniform", "corpus": corpus, "tokenizer": next(iter(values["tokenizers"]))}
        for name in ("better", "worse")
    }
    values["tasks"] = {
        name: {"kind": kind, "source": source, "labels": LABELS[name], "metric": metric, "max_length": 8}
        for name, (kind, metric) in kinds.items()
    }
    values["pairs"] = {
        f"{variant}-{task}": {"variant": variant, "family": "uniform", "task": task}
        for variant in values["variants"]
        for task in kinds
    }
    values["probes"] = {}
    values["evaluation"] = values["evaluation"] | {"bootstrap_draws": 200, "pseudo_perplexity_sentences": 5}
    values["release"]["floors"] = {}
    return parse_settings(Params, values | changes, "test")


@dataclass(frozen=True)
class Project:
    """Inputs of the stage, on disk."""

    root: Path
    params: Params

    def run(self, params: Params | None = None, progress: Any = None) -> dict[str, Any]:
        evaluate.run(
            params or self.params,
            progress or NullProgress(),
            corpora=self.root / "clean",
            tasks=self.root / "tasks",
            probes=self.root / "probes",
            pretrained=self.root / "pretrained",
            finetuned=self.root / "finetuned",
            out=self.root / "report",
            predictions=self.root / "predictions",
            leaderboard=self.root / "leaderboard.json",
        )
        metrics: dict[str, Any] = json.loads((self.root / "report" / "metrics.json").read_text())
        return metrics


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return write_project(tmp_path)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, Any]]:
    """A project that the stage has run in, to be looked at only."""
    project = write_project(tmp_path_factory.mktemp("measured"))
    return project, project.run()


def write_project(tmp_path: Path) -> Project:
    params = settings()
    corpus = next(iter(params.variants.values())).corpus
    for split, first in (("train", 1000), ("test", 0)):
        documents = [
            {"id": f"document-{i}", "source": "s", "sentences": ["a b c", "d é"]} for i in range(first, first + 9)
        ]
        table = pa.Table.from_pylist(documents, schema=CLEAN_SCHEMA)
        write(tmp_path / "clean" / corpus / split / "part-00000.parquet", table)
    for name, task in params.tasks.items():
        for split, numbers in (("train", range(1000, 1060)), ("test", range(NUM_TEST))):
            table = pa.Table.from_pylist([example(name, i) for i in numbers], schema=ROW_SCHEMAS[task.kind])
            write(tmp_path / "tasks" / name / f"{split}.parquet", table)
    for variant, choices, pseudo in (("better", 8, False), ("worse", 16, True)):
        folder = tmp_path / "pretrained" / variant
        folder.mkdir(parents=True)
        (folder / "model.json").write_text(json.dumps({"choices": choices, "pseudo": pseudo}))
        (folder / "curve.csv").write_text("step,loss\n1,2.5\n")
        (folder / "metrics.json").write_text(json.dumps({"tokens": choices, "parameters": 7, "flops": 1.5e12}))
        write_manifest(folder)
    for pair_name, pair in params.pairs.items():
        folder = tmp_path / "finetuned" / pair_name
        share = 0.9 if pair.variant == "better" else 0.4
        for seed in (1, 2, 3):
            (folder / f"seed-{seed}").mkdir(parents=True)
            (folder / f"seed-{seed}" / "model.json").write_text(
                json.dumps({"task": pair.task, "share": share, "seed": seed})
            )
        (folder / "curve.csv").write_text("seed,epoch,step,loss,score\n1,1,10,0.5,0.25\n2,1,10,0.5,0.75\n")
    return Project(tmp_path, params)


def write(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def test_language_models(measured):
    models = measured[1]["language_models"]
    sample = {"sentences": 5, "impossible_sentences": 0, "unknown_rate": 0.0}
    assert models["better"]["likelihood"] == "exact"
    assert models["better"]["test"] == {
        "sentences": 18,
        "tokens": 9 * (4 + 3),
        "bytes": 9 * (5 + 4),
        "impossible_sentences": 0,
        "unknown_rate": 0.0,
        "perplexity": 8.0,
        "bits_per_byte": pytest.approx(7 * 3 / 9, abs=1e-6),
    }
    assert models["worse"]["likelihood"] == "pseudo"
    assert "test" not in models["worse"]
    assert models["worse"]["sample"].items() >= {**sample, "pseudo_perplexity": 16.0}.items()
    assert models["better"]["sample"].items() >= {**sample, "perplexity": 8.0}.items()
    assert models["better"]["sample"]["tokens"] == models["worse"]["sample"]["tokens"]  # the same sentences


def test_tasks_have_a_row_for_every_system(measured):
    tasks = measured[1]["tasks"]
    assert tasks["order"]["order"] == ["chance", "majority", "bag-of-words", "better", "worse"]
    assert tasks["names"]["order"] == ["chance", "majority", "memory", "bag-of-words", "better", "worse"]
    for task in tasks.values():
        assert task["n"] == NUM_TEST
        assert set(task["rows"]) == set(task["order"])
        assert task["test_documents_in_pretraining"] == 0
        for row in task["rows"].values():
            assert row["low"] <= row["mean"] <= row["high"]
        assert [len(task["rows"][name]["seeds"]) for name in ("majority", "better")] == [1, 3]
    assert tasks["cloze"]["rows"]["better"]["also"].keys() == {"em"}


def test_variants_are_compared_pairwise(measured):
    for task in measured[1]["tasks"].values():
        first = task["comparisons"][0]
        assert (first["first"], first["second"]) == ("better", "worse")
        expected = task["rows"]["better"]["mean"] - task["rows"]["worse"]["mean"]
        assert first["difference"] == pytest.approx(expected, abs=2e-6)
        assert first["excludes_zero"]
        assert len(first["mcnemar"]) == 3


def test_stored_predictions_give_the_reported_scores(measured):
    project, tasks = measured[0], measured[1]["tasks"]
    for name, task in project.params.tasks.items():
        test = pq.read_table(project.root / "tasks" / name / "test.parquet", schema=ROW_SCHEMAS[task.kind])
        for system, seed, place in (("better", 2, 1), ("worse", 3, 2), ("majority", 0, 0), ("bag-of-words", 0, 0)):
            path = project.root / "predictions" / f"{system}-{name}" / f"seed-{seed}.parquet"
            stored = pq.read_table(path)
            assert stored.schema.equals(PREDICTION_SCHEMAS[task.kind])
            again = score(task.kind, test, stored, task.labels)[task.metric]
            assert tasks[name]["rows"][system]["seeds"][place] == pytest.approx(again, abs=1e-6)


def test_the_report_has_a_summary_tables_and_plots(measured):
    project, metrics = measured
    report = project.root / "report"
    summary = json.loads((report / "summary.json").read_text())
    assert summary["tasks"]["cloze"]["better"] == metrics["tasks"]["cloze"]["rows"]["better"]["mean"]
    assert summary["language_models"]["better"].keys() == {"perplexity", "bits_per_byte"}
    assert summary["language_models"]["worse"].keys() == {"pseudo_perplexity", "pseudo_bits_per_byte"}
    assert (report / "plots" / "pretraining.csv").read_text() == "variant,step,loss\nbetter,1,2.5\nworse,1,2.5\n"
    assert "cloze,better,1,0.5\n" in (report / "plots" / "finetuning.csv").read_text()
    assert len((report / "plots" / "scores.csv").read_text().splitlines()) == 1 + 5 + 5 + 6
    assert "| better |" in (report / "results.md").read_text()


def test_twice_gives_the_same_bytes_and_no_trace_of_where(project):
    project.run()
    boards = [project.root / f"leaderboard.{ending}" for ending in ("json", "md", "html")]
    folders = [project.root / "report", project.root / "predictions", *boards]
    first = digest_tree(folders)
    project.run()
    assert digest_tree(folders) == first
    for file in [*(project.root / "report").rglob("*"), *boards]:
        assert file.is_dir() or str(project.root) not in file.read_text()


def test_the_leaderboard_is_made_of_stored_answers(measured):
    project, metrics = measured
    board = json.loads((project.root / "leaderboard.json").read_text())
    assert [column["name"] for column in board["columns"]] == list(project.params.tasks)  # in the settings' order
    rows = {row["name"]: row["cells"] for row in board["rows"]}
    assert list(rows) == ["chance", "majority", "bag-of-words", "memory", "better", "worse"]
    for task, found in metrics["tasks"].items():
        for name, row in found["rows"].items():
            assert {key: rows[name][task][key] for key in ("mean", "low", "high")} == {
                key: row[key] for key in ("mean", "low", "high")
            }
    assert board["missing"] == []
    assert rows["better"]["names"]["degenerate"] == 0
    sample = board["samples"]["cloze"][0]
    told = {answer["system"]: answer["right"] for answer in sample["answers"]}
    assert told == {"bag-of-words": told["bag-of-words"], "better": True, "worse": False}


def test_a_run_that_only_gives_the_majoritys_answer_is_marked(project, monkeypatch):
    whole = Answering._answer

    def answer(self: Answering, row_id: str) -> dict[str, Any]:
        given = whole(self, row_id)
        return given | {"label": "bad"} if self.name == "order" and self.seed == 2 and self.share < 0.5 else given

    monkeypatch.setattr(Answering, "_answer", answer)
    project.run()
    board = json.loads((project.root / "leaderboard.json").read_text())
    marked = {row["name"]: row["cells"]["order"]["degenerate"] for row in board["rows"] if "order" in row["cells"]}
    assert (marked["worse"], marked["better"], marked["majority"]) == (1, 0, 0)
    assert "*degenerate (1 of 3 seeds)*" in (project.root / "leaderboard.md").read_text()


def test_baselines_do_not_see_the_answers(project, monkeypatch):
    seen: set[str] = set()
    whole = BASELINES["classification"]["majority"]

    def spy(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:
        seen.update(test.column_names)
        return whole(train, test, labels)

    monkeypatch.setitem(BASELINES["classification"], "majority", spy)
    project.run()
    assert seen == {"id", "document", "text", "text_pair"}


def test_progress_is_told_of_every_part(project):
    class Recorder(NullProgress):
        def __init__(self) -> None:
            self.parts: dict[str, tuple[int | None, int]] = {}

        def start(self, what: str, total: int | None, unit: str) -> None:  # noqa: ARG002
            self.now, self.total = what, total

        def update(self, done: int, values: Any = None) -> None:  # noqa: ARG002
            self.parts[self.now] = (self.total, done)

    recorder = Recorder()
    project.run(progress=recorder)
    assert recorder.parts["better-order on test rows"] == (3 * NUM_TEST, 3 * NUM_TEST)
    assert recorder.parts["better on test text"] == (18, 18)
    assert all(total == done for total, done in recorder.parts.values())


def test_a_test_document_in_the_pretraining_split_stops_an_offline_task(project):
    corpus = next(iter(project.params.variants.values())).corpus
    documents = [{"id": "document-3", "source": "s", "sentences": ["x"]}]
    write(project.root / "clean" / corpus / "train" / "part-00001.parquet", pa.Table.from_pylist(documents))
    with pytest.raises(
        InputError, match=r"1 documents of its test rows are in the pretraining split, such as 'document-3'"
    ):
        project.run()
    assert not (project.root / "report").exists()
    values = project.params.model_dump()
    for task in values["tasks"].values():
        task["source"] = {"kind": "files", "format": "jsonl", "files": {}}
    metrics = project.run(parse_settings(Params, values, "test"))
    assert metrics["tasks"]["order"]["test_documents_in_pretraining"] == 1


def test_missing_models_and_unequal_seeds_are_named(project):
    folder = project.root / "finetuned" / "worse-order"
    (folder / "seed-3").rename(folder / "seed-4")
    with pytest.raises(InputError, match=r"worse-order has seeds \[1, 2, 4\] and better-order has \[1, 2, 3\]"):
        project.run()
    for seed in (1, 2, 4):
        (folder / f"seed-{seed}").rename(folder / f"other-{seed}")
    with pytest.raises(
        InputError, match=r"worse-order: no fine-tuned models there; run `dvc repro finetune@worse-order`"
    ):
        project.run()


def test_a_damaged_pretrained_model_is_not_scored(project):
    path = project.root / "pretrained" / "worse" / "model.json"
    path.write_text(path.read_text().replace("16", "17"))
    with pytest.raises(CorruptionError, match=r"worse/model\.json: bytes do not match the manifest"):
        project.run()


def test_a_variant_may_not_be_named_like_a_baseline(project):
    values = project.params.model_dump()
    values["variants"]["majority"] = values["variants"].pop("better")
    values["pairs"] = {"majority-order": {"variant": "majority", "family": "uniform", "task": "order"}}
    (project.root / "pretrained" / "better").rename(project.root / "pretrained" / "majority")
    (project.root / "finetuned" / "better-order").rename(project.root / "finetuned" / "majority-order")
    with pytest.raises(SettingsError, match=r"variants\.majority: a baseline has this name"):
        project.run(parse_settings(Params, values, "test"))


def test_a_family_without_a_likelihood_says_so(project, monkeypatch):
    module = sys.modules["stemma.families.uniform.family"]
    monkeypatch.setattr(module, "FAMILY", replace(UNIFORM, load_scorer=None))
    metrics = project.run()
    assert metrics["language_models"]["better"] == {"family": "uniform", "likelihood": "none"}


QUESTIONS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "alike": (
        "similarity",
        [
            {"first": "Cow", "second": "goat", "score": 9.0},
            {"first": "cow", "second": "ship", "score": 1.0},
            {"first": "cow", "second": "boat", "score": 2.0},
            {"first": "cow", "second": "whale", "score": 5.0},
        ],
    ),
    "plurals": (
        "analogy",
        [{"section": "s", "first": "cow", "second": "cows", "third": "boat", "answer": "boats"}],
    ),
}


def add_vectors(project: Project, monkeypatch: pytest.MonkeyPatch) -> Params:
    """Word vectors for one of the variants' folders, another family for the other, and questions to ask."""
    words = ["cow", "goat", "boat", "ship", "cows", "boats"]
    matrix = np.array([[1, 0, 0], [3, 1, 0], [0, 1, 0], [-1, 3, 0], [1, 0, 1], [0, 1, 1]], np.float32)
    folder = project.root / "pretrained" / "better"
    save_vectors(WordVectors(words, matrix), folder)
    tokenizer = next(iter(project.params.tokenizers.values())).model_copy(update={"kind": "word", "lowercase": True})
    save_tokenizer(learn_tokenizer([(word, 9) for word in words], tokenizer), tokenizer, folder)
    write_manifest(folder)
    for name, (kind, rows) in QUESTIONS.items():
        (project.root / "probes").mkdir(exist_ok=True)
        write_probe(probe_path(project.root / "probes", name), kind, rows)
    module = ModuleType("stemma.families.words.family")
    module.FAMILY = replace(UNIFORM, name="words", load_scorer=None, load_vectors=load_vectors)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(families, "families", lambda: ["uniform", "words"])
    values = project.params.model_dump()
    values["families"]["words"] = {}
    values["variants"]["better"]["family"] = "words"
    values["pairs"] = {name: pair for name, pair in values["pairs"].items() if pair["variant"] == "worse"}
    source = {"kind": "bundled", "name": "wordsim353"}  # not read here
    values["probes"] = {name: {"kind": kind, "source": source} for name, (kind, _) in QUESTIONS.items()}
    return parse_settings(Params, values, "test")


def test_probes_are_asked_of_variants_that_have_word_vectors(project, monkeypatch):
    metrics = project.run(add_vectors(project, monkeypatch))
    assert metrics["word_vectors"]["worse"] == {"family": "uniform", "vectors": "none"}
    better = metrics["word_vectors"]["better"]
    assert (better["family"], better["words"], better["size"]) == ("words", 6, 3)
    assert better["probes"]["alike"].items() >= {"value": 1.0, "covered": 3, "coverage": 0.75}.items()  # Cow is cow
    assert better["probes"]["plurals"].items() >= {"value": 1.0, "of_all": 1.0, "n": 1}.items()
    summary = json.loads((project.root / "report" / "summary.json").read_text())
    assert summary["word_vectors"] == {"better": {"alike": 1.0, "plurals": 1.0}}
    table = (project.root / "report" / "results.md").read_text()
    assert "| worse | no vectors | no vectors |" in table
    assert "| better | words | 8 | 7 | 1.50e+12 |" in table


def test_answers_to_probes_are_kept_and_two_variants_are_compared_from_them(project, monkeypatch):
    values = add_vectors(project, monkeypatch).model_dump()
    values["variants"]["worse"]["family"] = "words"
    values["pairs"] = {}
    rows = [
        {"section": "s", "first": one, "second": f"{one}s", "third": other, "answer": f"{other}s"}
        for one, other in permutations(["cow", "boat"], 2)
    ]
    write_probe(probe_path(project.root / "probes", "plurals"), "analogy", rows)
    better, worse = (project.root / "pretrained" / name for name in ("better", "worse"))
    words = load_vectors(better)
    save_vectors(WordVectors(words.words, words.matrix[[0, 1, 2, 3, 5, 4]]), worse)  # the plurals are exchanged
    for file in better.glob("tokenizer*"):
        shutil.copy(file, worse)
    write_manifest(worse)
    metrics = project.run(parse_settings(Params, values, "test"))
    stored = project.root / "predictions" / "probes"
    assert sorted(path.relative_to(stored).as_posix() for path in stored.rglob("*.parquet")) == [
        f"{probe}/{variant}.parquet" for probe in ("alike", "plurals") for variant in ("better", "worse")
    ]
    assert pq.read_table(stored / "plurals" / "better.parquet").to_pydict()["right"] == [True, True]
    (one,) = metrics["probes"]["plurals"]["comparisons"]
    assert (one["first"], one["second"], one["n"], one["difference"]) == ("better", "worse", 2, 1.0)
    assert metrics["probes"]["alike"]["comparisons"][0]["n"] == 3
    board = json.loads((project.root / "leaderboard.json").read_text())
    assert [found["task"] for found in compare_rows(board, "worse", "better")] == ["alike", "plurals"]
    cells = {row["name"]: row["cells"]["plurals"] for row in board["rows"] if "plurals" in row["cells"]}
    assert (cells["better"]["low"], cells["better"]["high"]) == (1.0, 1.0)
    assert "1.000 [1.000, 1.000]" in (project.root / "leaderboard.md").read_text()


def test_minimal_pairs_are_asked_of_variants_that_have_a_scorer(project, monkeypatch):
    params = add_vectors(project, monkeypatch)
    rows = [
        {"paradigm": paradigm, "phenomenon": "length", "good": "a b", "bad": bad}
        for paradigm, bad in (("longer", "a b c d"), ("same", "b a"))
    ]
    write_probe(probe_path(project.root / "probes", "pairs"), "minimal-pairs", rows)
    values = params.model_dump()
    values["probes"]["pairs"] = {"kind": "minimal-pairs", "source": {"kind": "offline", "recipe": "r", "questions": 1}}
    metrics = project.run(parse_settings(Params, values, "test"))
    assert metrics["minimal_pairs"]["better"] == {"family": "words", "probes": {}}
    worse = metrics["minimal_pairs"]["worse"]["probes"]["pairs"]
    assert worse["paradigms"] == {"longer": 1.0, "same": 0.5}, "longer is less likely, and a tie counts one half"
    assert (worse["value"], worse["ties"], worse["n"]) == (0.75, 0.5, 2)
    assert "pairs" not in metrics["word_vectors"]["better"]["probes"]
    summary = json.loads((project.root / "report" / "summary.json").read_text())
    assert summary["minimal_pairs"] == {"worse": {"pairs": 0.75}}
    table = (project.root / "report" / "results.md").read_text()
    assert "| | pairs (accuracy) | ties | length |" in table.replace("|  |", "| |")
    assert "| better | no scorer | – | – |" in table
    assert "| worse | ~0.750 [0.500, 1.000] | 50.0% | 0.750 |" in table


def test_a_probe_that_was_not_prepared_is_named(project, monkeypatch):
    params = add_vectors(project, monkeypatch)
    probe_path(project.root / "probes", "plurals").unlink()
    with pytest.raises(InputError, match=r"probes/plurals\.parquet: no such file; run `dvc repro prepare`"):
        project.run(params)


def test_budgets_are_what_the_models_say(measured):
    used = {"family": "uniform", "parameters": 7, "flops": 1.5e12}
    assert measured[1]["budget"] == {"better": {"tokens": 8, **used}, "worse": {"tokens": 16, **used}}


class Spelling:
    """Translates into what the toy corpus has for it, but for every third sentence."""

    def __init__(self, folder: Path) -> None:
        assert (folder / "manifest.json").is_file()

    def translate(self, sentences: Sequence[str], *, beam: int | None = None) -> list[str]:
        assert beam is None
        return ["d é" if number % 3 else "c b a" for number, _ in enumerate(sentences)]


def test_translations_of_test_pairs_are_scored_and_kept(project, monkeypatch):
    module = ModuleType("stemma.families.spelling.family")
    module.FAMILY = replace(UNIFORM, name="spelling", load_scorer=None, load_translator=Spelling)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(families, "families", lambda: ["uniform", "spelling"])
    values = project.params.model_dump()
    values["families"]["spelling"] = {}
    values["variants"]["better"]["family"] = "spelling"
    values["pairs"] = {name: pair for name, pair in values["pairs"].items() if pair["variant"] == "worse"}
    metrics = project.run(parse_settings(Params, values, "test"))
    assert list(metrics["translation"]) == ["better"], "the other does not translate"
    found = metrics["translation"]["better"]
    kept = pq.read_table(project.root / "predictions" / "translations" / "better.parquet").to_pydict()
    assert kept["sources"] == ["a b c"] * 9
    assert kept["references"] == ["d é"] * 9
    assert kept["translations"] == ["c b a", "d é", "d é"] * 3
    again = BLEU().corpus_score(kept["translations"], [kept["references"]]).score
    assert found["bleu"] == pytest.approx(again, abs=1e-6)
    assert found["low"] <= found["bleu"] <= found["high"]
    summary = json.loads((project.root / "report" / "summary.json").read_text())
    assert summary["translation"] == {"better": {"bleu": found["bleu"]}}
    assert "| better | " in (project.root / "report" / "results.md").read_text()


def test_models_of_one_task_are_tested_on_another_too(project: Project) -> None:
    """As MNLI's are on the mismatched pairs: another test split, the same training."""
    values = project.params.model_dump()
    values["tasks"]["order-elsewhere"] = {**values["tasks"]["order"], "tuned_on": "order"}
    folder, other = project.root / "tasks" / "order", project.root / "tasks" / "order-elsewhere"
    shutil.copytree(folder, other)
    rows = pq.read_table(other / "test.parquet")
    write(other / "test.parquet", rows.slice(0, len(rows) // 2))
    metrics = project.run(parse_settings(Params, values, "test"))
    matched, elsewhere = metrics["tasks"]["order"], metrics["tasks"]["order-elsewhere"]
    assert elsewhere["variants"] == matched["variants"]
    assert elsewhere["n"] == matched["n"] // 2
    assert elsewhere["rows"]["better"]["mean"] > elsewhere["rows"]["worse"]["mean"]
    for name, count in (("better-order", matched["n"]), ("better-order-elsewhere", elsewhere["n"])):
        assert pq.read_metadata(project.root / "predictions" / name / "seed-1.parquet").num_rows == count
