"""Tables for plots."""

from pathlib import Path

import pytest

from stemma.errors import InputError
from stemma.tasks.plots import finetuning_curves, pretraining_curves, scores_csv


def write(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "curve.csv").write_text(text)
    return folder


def test_pretraining_curves_leave_out_what_has_none(tmp_path):
    bert = write(tmp_path / "bert", "step,loss,mlm_loss\n1,9.5,9\n2,8.5,8\n")
    (tmp_path / "ngram").mkdir()
    curves = pretraining_curves({"ngram": tmp_path / "ngram", "bert": bert})
    assert curves == "variant,step,loss\nbert,1,9.5\nbert,2,8.5\n"


def test_finetuning_curves_are_means_over_seeds(tmp_path):
    text = "seed,epoch,step,loss,score\n1,1,10,0.5,0.2\n1,1,20,0.5,\n1,2,20,0.4,0.6\n2,1,10,0.5,0.4\n2,2,20,0.4,0.7\n"
    folder = write(tmp_path / "bert-cloze", text)
    curves = finetuning_curves({("cloze", "bert"): folder})
    assert curves == "task,variant,epoch,score\ncloze,bert,1,0.3\ncloze,bert,2,0.65\n"


def test_a_missing_or_strange_curve_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone/curve\.csv: no such file"):
        finetuning_curves({("cloze", "bert"): tmp_path / "gone"})
    with pytest.raises(InputError, match=r"curve\.csv: no column 'score'"):
        finetuning_curves({("cloze", "bert"): write(tmp_path / "odd", "seed,epoch\n")})


def test_scores():
    rows = {"majority": {"mean": 0.1, "low": 0.0, "high": 0.2}}
    assert scores_csv({"cloze": {"rows": rows}}) == "task,system,score,low,high\ncloze,majority,0.1,0.0,0.2\n"
