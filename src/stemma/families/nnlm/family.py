"""The neural probabilistic language model (Bengio et al. 2003): a word from the vectors of the few words before it.

The first model here that shares what it learns between words: those with like vectors predict alike. Left out on purpose: the
mixture with an n-gram model, classes from WordNet, and the importance sampling that later made training faster.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from stemma.config import Share
from stemma.data.token_store import TokenStore
from stemma.families.base import Family, Pretraining
from stemma.families.nnlm.network import NetworkSettings, NeuralModel, build_network, save_network
from stemma.families.nnlm.scorer import load_scorer
from stemma.families.nnlm.windows import Predictions, read_windows
from stemma.files import write_text
from stemma.progress import Progress
from stemma.text.symbols import Symbols, read_symbols
from stemma.text.vectors import WordVectors, load_model_vectors, save_vectors
from stemma.text.vocabulary import load_words
from stemma.training.checkpoint import Checkpoints
from stemma.training.figures import curve_csv, rounded
from stemma.training.loop import Batch, Training, deterministic
from stemma.training.pretraining import optimisation_of, take_steps
from stemma.training.static_tasks import StaticTaskSettings, load_static_encoder, load_static_tuned, save_task_settings

__all__ = ["FAMILY", "NnlmSettings", "batch_source", "objective", "pretrain"]


class NnlmSettings(NetworkSettings, StaticTaskSettings):
    """The shape of the network, the budget, and what tasks put on its word vectors."""

    steps: PositiveInt
    batch_size: PositiveInt  # predictions
    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(ge=0)
    warmup_share: Share
    max_gradient_norm: float = Field(gt=0)
    checkpoint_every: PositiveInt  # steps
    threads: PositiveInt


def pretrain(job: Pretraining[NnlmSettings]) -> dict[str, float]:
    """Train on the tokens, write the network, its word vectors and the curve, and return the metrics."""
    symbols, settings = read_symbols(job.tokenizer), job.settings
    with deterministic(settings.threads):
        training, network = _begin(job, symbols)
        job.progress.start("pretraining", settings.steps, "steps")
        training.advance(settings.steps, batch_source(job, symbols), objective)
        training.save()
        metrics = _validate(network, TokenStore.open(job.tokens / "validation"), symbols, job.progress)
    save_network(network, settings, job.out)
    save_vectors(_word_vectors(network, job.tokenizer), job.out)
    save_task_settings(settings, job.out)
    write_text(job.out / "curve.csv", curve_csv(training.curve))
    return {
        **metrics,
        "steps": training.step,
        "tokens": training.num_tokens,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "flops": _flops(network) * training.num_tokens,
    }


def objective(model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The mean of the nats of a batch's predictions."""
    network: Any = model
    windows = tensors["windows"]
    return {"loss": network.loss(windows, 1 / len(windows))}


def batch_source(job: Pretraining[NnlmSettings], symbols: Symbols) -> Callable[[int], Batch]:
    """The training split's batches by the number of the step."""
    store, settings = TokenStore.open(job.tokens / "train"), job.settings
    predictions = Predictions(store, symbols, context=settings.context, batch_size=settings.batch_size, seed=job.seed)

    def batch_at(step: int) -> Batch:
        name, windows = predictions.at(step)
        return Batch(name=name, passes=[{"windows": torch.from_numpy(windows)}], num_tokens=len(windows))

    return batch_at


def _steps(job: Pretraining[NnlmSettings]) -> Iterator[int]:
    """Training steps, for those who want to know what they cost."""
    symbols = read_symbols(job.tokenizer)
    with deterministic(job.settings.threads):
        training, _ = _begin(job, symbols)
        yield from take_steps(training, batch_source(job, symbols), objective)


def _begin(job: Pretraining[NnlmSettings], symbols: Symbols) -> tuple[Training, NeuralModel]:
    network = build_network(job.settings, symbols, seed=job.seed)
    optimisation, checkpoints = optimisation_of(job.settings, job.seed), Checkpoints(job.scratch)
    return Training(network, optimisation, checkpoints, tracker=job.tracker, progress=job.progress), network


def _validate(network: NeuralModel, store: TokenStore, symbols: Symbols, progress: Progress) -> dict[str, float]:
    """Perplexity a token (each `</s>` is one) and bits a byte, on documents that were not trained on."""
    if not store.num_sentences:
        return {}
    network.eval()
    progress.start("validating", store.num_tokens + store.num_sentences, "tokens")
    nats: list[float] = []
    num_predicted = num_unknown = 0
    with torch.inference_mode():
        for windows in read_windows(store, symbols, network.context):
            nats.append(float(network.surprise(windows).sum()))
            num_predicted += len(windows)
            num_unknown += int((windows.words == symbols.unknown).sum())
            progress.update(num_predicted)
    total = math.fsum(nats)
    return {
        "validation_perplexity": rounded(math.exp(total / num_predicted)),
        "validation_bits_per_byte": rounded(total / math.log(2) / store.num_bytes),
        "validation_unknown_rate": rounded(num_unknown / num_predicted),
    }


def _word_vectors(network: NeuralModel, tokenizer: Path) -> WordVectors:
    """The rows of C that belong to words, by id, which is by falling frequency."""
    first, words = load_words(tokenizer)
    return WordVectors(words, network.vectors.detach().numpy()[first:])


def _flops(network: NeuralModel) -> int:
    """Floating-point operations a prediction: each weight of a product multiplies and adds, forwards once and back twice.

    Of an adaptive softmax all weights are counted, though a prediction uses only those of its own class.
    """
    products = (parameter for name, parameter in network.named_parameters() if name != "vectors" and parameter.ndim > 1)
    return 3 * 2 * sum(parameter.numel() for parameter in products)


FAMILY: Final = Family(
    name="nnlm",
    params=NnlmSettings,
    pretrain=pretrain,
    steps=_steps,
    load_encoder=load_static_encoder,
    load_tuned=load_static_tuned,
    load_scorer=load_scorer,
    load_vectors=load_model_vectors,
)
