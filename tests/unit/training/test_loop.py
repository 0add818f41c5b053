"""The loop: what a step does, what it keeps, what stops it."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stemma.errors import TrainingError
from stemma.progress import NullProgress
from stemma.training.checkpoint import Checkpoints
from stemma.training.loop import Batch, Optimisation, Training, deterministic
from stemma.training.tracker import NullTracker, Tracker


class Recorder(NullTracker):
    def __init__(self) -> None:
        self.points: list[tuple[int, dict[str, float]]] = []

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        self.points.append((step, dict(metrics)))


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))


def batch_at(step: int) -> Batch:
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(4, 3, generator=generator)
    tensors = {"inputs": inputs, "targets": inputs.sum(1, keepdim=True)}
    return Batch(name=f"batch {step}", passes=[tensors], num_tokens=4)


def squared_error(model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    loss = nn.functional.mse_loss(model(tensors["inputs"]), tensors["targets"])
    return {"loss": loss, "twice": 2 * loss}


def begin(
    folder: Path, *, steps: int = 20, tracker: Tracker | None = None, model: nn.Module | None = None, **changes: Any
) -> Training:
    settings: dict[str, Any] = {
        "steps": steps,
        "learning_rate": 0.05,
        "weight_decay": 0.1,
        "warmup_share": 0.1,
        "max_gradient_norm": 1.0,
        "seed": 5,
        "record_every": 3,
        "checkpoint_every": 6,
    }
    return Training(
        model or make_model(),
        Optimisation(**settings | changes),
        Checkpoints(folder),
        tracker=tracker or NullTracker(),
        progress=NullProgress(),
    )


def weights(training: Training) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in training.model.state_dict().items()}


def assert_equal_weights(left: dict[str, Tensor], right: dict[str, Tensor]) -> None:
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


@pytest.fixture(autouse=True)
def _deterministic():
    with deterministic(1):
        yield


def test_learns(tmp_path):
    training = begin(tmp_path, steps=200, model=nn.Linear(3, 1), weight_decay=0.0)
    training.advance(200, batch_at, squared_error)
    assert training.curve[-1]["loss"] < 0.05 * training.curve[0]["loss"]
    assert training.num_tokens == 800


@pytest.mark.parametrize("stop", [1, 6, 7, 13, 19])
def test_goes_on_after_a_stop_as_if_there_had_been_none(tmp_path, stop):
    whole = begin(tmp_path / "whole")
    whole.advance(20, batch_at, squared_error)
    begin(tmp_path / "halves").advance(stop, batch_at, squared_error)  # saves at 6, 12, 18 only
    torch.manual_seed(999)  # another process has another state
    again = begin(tmp_path / "halves")
    assert again.step == (stop - 1) // 6 * 6
    again.advance(20, batch_at, squared_error)
    assert_equal_weights(weights(whole), weights(again))
    assert (whole.curve, whole.num_tokens) == (again.curve, again.num_tokens)


def test_notes_and_kept_tensors_come_back(tmp_path):
    first = begin(tmp_path)
    first.advance(2, batch_at, squared_error)
    first.notes["best"] = 0.1 + 0.2
    first.kept["best"] = torch.tensor([1.0, math.nan])
    first.save()
    second = begin(tmp_path)
    assert second.step == 2
    assert second.notes == {"best": 0.1 + 0.2}
    assert torch.equal(second.kept["best"].view(torch.int32), first.kept["best"].view(torch.int32))


def test_curve_is_the_mean_of_its_window_and_is_tracked(tmp_path):
    tracker = Recorder()
    training = begin(tmp_path, steps=8, tracker=tracker)
    losses = []

    def objective(model, tensors):
        result = squared_error(model, tensors)
        losses.append(float(result["loss"].detach()))
        return result

    training.advance(8, batch_at, objective)
    assert [point["step"] for point in training.curve] == [3, 6, 8]
    expected = [sum(losses[:3]) / 3, sum(losses[3:6]) / 3, sum(losses[6:]) / 2]
    assert [point["loss"] for point in training.curve] == pytest.approx(expected)
    assert [point["twice"] for point in training.curve] == pytest.approx([2 * value for value in expected])
    assert [step for step, _ in tracker.points] == [3, 6, 8]
    assert tracker.points[0][1].keys() == {"loss", "twice", "tokens_per_second"}
    assert "tokens_per_second" not in training.curve[0], "a curve is a function of settings and data alone"


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_before_the_update(tmp_path, bad):
    training = begin(tmp_path)
    training.advance(8, batch_at, squared_error)
    before = weights(training)

    def objective(model, tensors):
        return {"loss": squared_error(model, tensors)["loss"] * bad}

    with pytest.raises(TrainingError, match=r"the loss is (nan|inf) at step 9 \(batch 8\).*checkpoint of 6 is kept"):
        training.advance(20, batch_at, objective)
    assert_equal_weights(before, weights(training))
    assert begin(tmp_path).step == 6


def test_a_gradient_that_is_not_finite_stops_before_the_update(tmp_path):
    training = begin(tmp_path)
    before = weights(training)

    def objective(model, tensors):
        # sqrt has an infinite slope at 0: the loss is finite, its gradient is not
        return {"loss": torch.sqrt(squared_error(model, tensors)["loss"] * 0)}

    with pytest.raises(TrainingError, match=r"gradient norm is nan at step 1 \(batch 0\).*no checkpoint yet"):
        training.advance(20, batch_at, objective)
    assert_equal_weights(before, weights(training))


def test_clips_the_gradient(tmp_path):
    training = begin(tmp_path, max_gradient_norm=1e-12, weight_decay=0.0, learning_rate=1e-3)
    seen = []
    update = training._optimizer.step

    def step() -> None:
        gradients = [parameter.grad for parameter in training.model.parameters() if parameter.grad is not None]
        seen.append(float(nn.utils.get_total_norm(gradients)))
        update()

    training._optimizer.step = step  # type: ignore[method-assign,assignment]
    training.advance(2, batch_at, squared_error)
    assert seen == pytest.approx([1e-12, 1e-12], rel=1e-3)


def test_vectors_do_not_decay(tmp_path):
    training = begin(tmp_path)
    groups = training._optimizer.param_groups
    assert [(len(group["params"]), group["weight_decay"]) for group in groups] == [(2, 0.1), (2, 0.0)]


def test_deterministic_puts_everything_back():
    torch.use_deterministic_algorithms(False)
    torch.manual_seed(1)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    with deterministic(2):
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.get_num_threads() == 2
        torch.rand(3)
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
