"""Progress shows stage, step, figures and time left, and not too often."""

import json
from pathlib import Path

import pytest

from stemma.progress import StageProgress, describe


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


def test_state_file_holds_what_a_flow_shows(tmp_path: Path, clock: list[float]) -> None:
    with StageProgress("pretrain@bert", directory=tmp_path, interval=1.0, clock=lambda: clock[0]) as progress:
        progress.start("training", 100, "steps")
        clock[0] = 10.0
        progress.update(25, {"loss": 2.5, "tokens_per_second": 12000.0})
        state = json.loads((tmp_path / "pretrain@bert.json").read_text())
        assert state["done"] == 25
        assert state["seconds_left"] == pytest.approx(30.0)
        assert (
            describe(state) == "pretrain@bert: training 25/100 steps · loss 2.5 · tokens per second 12,000 · 0:30 left"
        )
    assert list(tmp_path.iterdir()) == []


def test_updates_within_the_interval_are_not_shown_but_the_last_is(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with StageProgress("ingest", directory=None, interval=5.0, clock=lambda: clock[0]) as progress:
        progress.start("documents", 3, "documents")
        for done in (1, 2, 3):
            clock[0] += 1.0
            progress.update(done)
    shown = capsys.readouterr().err.splitlines()
    assert [line.split()[2] for line in shown] == ["0/3", "3/3"]
