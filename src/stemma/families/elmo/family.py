"""ELMo (Peters et al. 2018): word vectors that depend on the sentence, from two language models that read from either side.

Left out on purpose: the sampled softmax of the authors' code (`stemma.layers.word_loss` makes the full one cheap enough), and
its clipping of cells.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from stemma.config import Share
from stemma.data.token_store import TokenStore
from stemma.families.base import Family, Pretraining
from stemma.families.elmo.contextual import load_contextual
from stemma.families.elmo.encoder import TaskSettings, load_encoder, load_tuned, save_task_settings
from stemma.families.elmo.network import DIRECTIONS, Elmo, NetworkSettings, build_network, save_network
from stemma.families.elmo.scorer import load_scorer
from stemma.families.elmo.streams import Streams
from stemma.families.elmo.validation import validate
from stemma.files import write_text
from stemma.text.symbols import Symbols, read_symbols
from stemma.training.checkpoint import Checkpoints
from stemma.training.figures import curve_csv
from stemma.training.loop import Batch, Training, deterministic
from stemma.training.pretraining import optimisation_of, take_steps

__all__ = ["FAMILY", "CarriedState", "ElmoSettings", "batch_source", "pretrain", "windows_of"]


class ElmoSettings(NetworkSettings, TaskSettings):
    """The shape of the network, the budget, and what tasks put on it."""

    steps: PositiveInt
    batch_size: PositiveInt  # streams of text that are read side by side
    length: PositiveInt  # tokens of each that a step reads, and through which gradients go back
    fresh_share: Share  # of the streams that begin a step with an empty state, as a sentence by itself does
    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(ge=0)
    warmup_share: Share
    max_gradient_norm: float = Field(gt=0)
    checkpoint_every: PositiveInt  # steps
    threads: PositiveInt


def pretrain(job: Pretraining[ElmoSettings]) -> dict[str, float]:
    """Train on the tokens, write the network and the curve, and return the metrics."""
    symbols, settings = read_symbols(job.tokenizer), job.settings
    with deterministic(settings.threads):
        training, network = _begin(job)
        job.progress.start("pretraining", settings.steps, "steps")
        training.advance(settings.steps, batch_source(job, symbols), CarriedState(training, settings.fresh_share))
        training.save()
        metrics = validate(network, TokenStore.open(job.tokens / "validation"), symbols, job.progress)
    save_network(network, settings, job.out)
    save_task_settings(settings, job.out)
    write_text(job.out / "curve.csv", curve_csv(training.curve))
    return {
        **metrics,
        "steps": training.step,
        "tokens": training.num_tokens,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "flops": round(_flops(network) * training.num_tokens),
    }


class CarriedState:
    """The objective: the mean of both directions' nats; each row goes on reading where its last window ended.

    Now and then a row forgets what it read, or the network would not know how to begin. What the LSTMs hold is kept by the
    training, whose checkpoints save it: a batch's tokens are a function of the step, and so is the state, since the weights are.
    """

    def __init__(self, training: Training, fresh_share: float) -> None:
        self._training, self._fresh_share = training, fresh_share

    def __call__(self, model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The loss of a window; leaves the state for the next."""
        assert isinstance(model, Elmo)
        kept, numbers = self._training.kept, range(len(model.lstms))
        states = None
        if not tensors["begins"]:
            goes_on = torch.rand(tensors["places"].shape[::2])[:, :, None] >= self._fresh_share  # (directions, rows, 1)
            states = [(kept[f"output.{n}"] * goes_on, kept[f"cell.{n}"] * goes_on) for n in numbers]
        reading = model.read(tensors["tokens"], tensors["places"], states)
        for number, (output, cell) in enumerate(reading.states):
            kept[f"output.{number}"], kept[f"cell.{number}"] = output, cell
        return {"loss": model.loss(reading, tensors["targets"])}


def batch_source(job: Pretraining[ElmoSettings], symbols: Symbols) -> Callable[[int], Batch]:
    """The training split's windows by the number of the step."""
    settings = job.settings
    store = TokenStore.open(job.tokens / "train")
    return windows_of(Streams(store, symbols, rows=settings.batch_size, length=settings.length, seed=job.seed))


def windows_of(streams: Streams) -> Callable[[int], Batch]:
    """Windows as batches: the distinct tokens of each, and which of them stands where."""

    def batch_at(step: int) -> Batch:
        window = streams.at(step)
        tokens, places = np.unique(window.inputs, return_inverse=True)
        arrays = {
            "begins": np.array(window.begins),
            "tokens": tokens,
            "places": places.reshape(window.inputs.shape),
            "targets": np.ascontiguousarray(window.targets),
        }
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return Batch(name=window.name, passes=[tensors], num_tokens=window.inputs[0].size)

    return batch_at


def _steps(job: Pretraining[ElmoSettings]) -> Iterator[int]:
    """Training steps, for those who want to know what they cost."""
    with deterministic(job.settings.threads):
        training, _ = _begin(job)
        yield from take_steps(
            training, batch_source(job, read_symbols(job.tokenizer)), CarriedState(training, job.settings.fresh_share)
        )


def _begin(job: Pretraining[ElmoSettings]) -> tuple[Training, Elmo]:
    network = build_network(job.settings, job.tokenizer, seed=job.seed)
    optimisation, checkpoints = optimisation_of(job.settings, job.seed), Checkpoints(job.scratch)
    return Training(network, optimisation, checkpoints, tracker=job.tracker, progress=job.progress), network


def _flops(network: Elmo) -> float:
    """Floating-point operations a token: each weight of a product multiplies and adds, forwards once and back twice.

    LSTMs have weights for both directions, the softmax is asked in both, filters look at every character of a token (of a mean
    one of the vocabulary). That a step makes the vector of each distinct token only once is not taken off: counted is what the
    model asks for.
    """
    tokens = network.tokens
    of_filters = sum(filter_.numel() for filter_ in tokens.filters) * float(tokens.lengths.double().mean())
    of_layers: int = sum(
        parameter.numel()
        for part in (tokens.highways, tokens.projection, network.lstms)
        for parameter in part.parameters()
        if parameter.ndim > 1
    )
    of_softmax = DIRECTIONS * network.weight.numel()
    return float(3 * 2 * (of_filters + of_layers + of_softmax))


FAMILY: Final = Family(
    name="elmo",
    params=ElmoSettings,
    pretrain=pretrain,
    steps=_steps,
    load_encoder=load_encoder,
    load_tuned=load_tuned,
    load_scorer=load_scorer,
    load_vectors=None,
    load_contextual=load_contextual,
)
