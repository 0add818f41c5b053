"""A user's own task: two tables and a few lines of params.yaml, through every stage to a champion in the registry."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from stemma.adapters.evidence import Sources
from stemma.adapters.registry import CHAMPION, Registry
from stemma.adapters.release import Releaser
from stemma.config import Params, load_params
from stemma.files import read_json
from stemma.progress import NullProgress
from stemma.release.ledger import LEDGER, Ledger
from stemma.stages import prepare, validate
from tests import toy_bert, toy_inputs, toy_release
from tests.toy_release import FINETUNED, PREDICTIONS, REPORT, TASKS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("release"), pytest.mark.timeout(600)]

OWN = """
tasks:
  has-a-j:
    kind: classification
    source:
      kind: files
      format: tsv
      files:
        train: [data/external/own.tsv]
        validation: [data/external/own.tsv]
        test: [data/external/own-test.tsv]
      columns: {text: sentence, label: right}
      label_names: {"0": lacking, "1": having}
      shares: {validation: 0.2, test: 0.1}
    labels: [lacking, having]
    metric: accuracy
    max_length: 24
pairs:
  bert-has-a-j: {variant: bert, family: bert, task: has-a-j}
release:
  floors: {has-a-j: 0.6}
"""


def make_project(folder: Path) -> Params:
    """A project without a task of its own making, and the lines above."""
    toy_release.make_project(folder, tasks=())
    path = folder / "params.yaml"
    values: dict[str, Any] = yaml.safe_load(path.read_text())
    own = yaml.safe_load(OWN)
    values |= {"tasks": own["tasks"], "pairs": own["pairs"], "release": values["release"] | own["release"]}
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return load_params(path)


def write_table(path: Path, count: int, seed: int, last: str = "") -> None:
    """Sentences and whether there is a `j` in them; `last` is a line behind them."""
    rng = np.random.default_rng(seed)
    sentences = [toy_bert.sentence(rng, int(rng.integers(5, 10))) for _ in range(count)]
    lines = [f"{text}\t{int('j' in text)}\n" for text in sentences]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("sentence\tright\n" + "".join(lines) + last)


def check_rows(params: Params) -> None:
    """Stages `prepare` and `validate`."""
    corpora = Path("data/raw/corpora")
    toy_inputs.write_corpus(corpora / "toy", [toy_inputs.document(number) for number in range(3)])
    raw = {"out": Path("data/raw/tasks"), "probes": Path("data/raw/probes")}
    prepare.run(params, NullProgress(), corpora=corpora, external=Path("data/external"), **raw)
    valid = {"out": TASKS.parent, "quarantine": Path("data/quarantine"), "report": Path("reports/validation.json")}
    validate.run(params, NullProgress(), corpora=corpora, tasks=raw["out"], **valid)


def test_lines_of_settings_make_a_row_of_the_table_and_a_champion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))
    params = make_project(tmp_path)
    write_table(Path("data/external/own.tsv"), 400, seed=1)
    write_table(Path("data/external/own-test.tsv"), 150, seed=2, last="a b c d e\tperhaps\n")

    check_rows(params)
    (refused,) = pq.read_table("data/quarantine/tasks/has-a-j.parquet").to_pylist()
    assert (refused["where"], refused["reason"]) == ("data/external/own-test.tsv:152", "unknown label 'perhaps'")

    toy_release.tune(tmp_path, params, "has-a-j")
    toy_release.measure(tmp_path, params)
    table = read_json(Path("reports/leaderboard.json"))
    assert [(column["name"], column["metric"], column["n"]) for column in table["columns"]] == [
        ("has-a-j", "accuracy", 150)
    ]
    rows = {row["name"]: row["cells"]["has-a-j"] for row in table["rows"]}
    assert rows.keys() == {"chance", "majority", "bag-of-words", "bert"}
    assert len(rows["bert"]["seeds"]) == 3
    assert rows["bert"]["low"] > rows["majority"]["mean"]
    assert "has-a-j" in Path("reports/leaderboard.html").read_text()

    sources = Sources(tasks=TASKS, finetuned=FINETUNED, evaluation=REPORT, predictions=PREDICTIONS)
    registry, ledger = Registry(), Ledger(LEDGER)
    outcome = Releaser(params, sources, registry, ledger, Path("requirements.lock")).release("bert-has-a-j")
    assert outcome.promoted
    assert "passed  floor: mean " in "\n".join(outcome.lines())
    assert [entry.kind for entry in ledger.entries()] == ["decision", "promotion"]
    champion = registry.at("bert-has-a-j", CHAMPION)
    assert champion is not None
    assert champion.number == "1"
