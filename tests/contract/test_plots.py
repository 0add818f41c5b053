"""What `evaluate` writes is what the `metrics` and `plots` of dvc.yaml name, and DVC understands it."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import altair
import pytest
import yaml

from stemma.files import write_json, write_text
from stemma.tasks.plots import finetuning_curves, pretraining_curves, scores_csv

ROOT = Path(__file__).resolve().parents[2]
GRAPH = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))


def run(folder: Path, *command: str) -> str:
    environment = os.environ | {"DVC_SITE_CACHE_DIR": str(folder / ".site"), "DVC_NO_ANALYTICS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_report(folder: Path, score: float) -> None:
    """A report in the shape that the stage writes, by the functions that write it."""
    report = folder / "reports" / "evaluation"
    rows = {"majority": {"mean": 0.1, "low": 0.05, "high": 0.15}, "bert": {"mean": score, "low": 0.2, "high": 0.9}}
    write_json(report / "summary.json", {"tasks": {"cloze": {"bert": score}}, "language_models": {"bert": {}}})
    write_text(report / "plots" / "scores.csv", scores_csv({"cloze": {"rows": rows}}))
    curves = folder / "curves"
    write_text(curves / "curve.csv", "seed,epoch,step,loss,score\n1,1,10,2.5,0.5\n1,2,20,2.0,0.6\n")
    write_text(report / "plots" / "pretraining.csv", pretraining_curves({"bert": curves}))
    write_text(report / "plots" / "finetuning.csv", finetuning_curves({("cloze", "bert"): curves}))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plots")
    run(folder, "git", "init", "--quiet", ".")
    run(folder, "dvc", "init", "--quiet")
    shutil.copytree(ROOT / ".dvc" / "plots", folder / ".dvc" / "plots")
    sections = {key: GRAPH[key] for key in ("metrics", "plots")}
    write_text(folder / "dvc.yaml", yaml.safe_dump(sections, sort_keys=False))
    write_report(folder, 0.5)
    run(folder, "git", "add", "--all")
    run(folder, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", "first")
    write_report(folder, 0.75)
    return folder


def test_metrics_diff(repository):
    diff = json.loads(run(repository, "dvc", "metrics", "diff", "--json"))
    assert diff["reports/evaluation/summary.json"]["tasks.cloze.bert"] == {"old": 0.5, "new": 0.75, "diff": 0.25}


def test_plots_show(repository):
    shown = json.loads(run(repository, "dvc", "plots", "show", "--json"))
    assert "errors" not in shown
    plots: dict[str, Any] = {name: drawn[0]["content"] for name, drawn in shown["data"].items()}
    assert list(plots) == [name for plot in GRAPH["plots"] for name in plot]
    for plot in plots.values():
        assert "<DVC" not in json.dumps(plot)  # every anchor of the template was filled
        assert plot["data"]["values"]
        chart = altair.FacetChart if "facet" in plot else altair.Chart
        chart.from_dict(plot, validate=True)  # a picture that Vega-Lite can draw
    scores = plots["Scores with intervals"]["data"]["values"]
    assert {"task": "cloze", "system": "bert", "score": "0.75"}.items() <= scores[1].items()


def test_plots_name_the_columns_that_there_are(repository):
    """DVC draws an empty picture, without a word, of a column that a file does not have."""
    for plot in GRAPH["plots"]:
        for definition in plot.values():
            ((path, column),) = definition["y"].items()
            header = (repository / path).read_text().splitlines()[0].split(",")
            assert {column, definition["x"]} <= set(header)


def test_a_page_is_written(repository):
    run(repository, "dvc", "plots", "diff", "HEAD", "workspace", "--out", "page")
    page = (repository / "page" / "index.html").read_text()
    assert "Pretraining loss" in page
