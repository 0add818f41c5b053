"""GPT with a task's head: the whole network is tuned, and goes on learning to predict text (Radford et al. 2018, section 3.2).

The answer is read at the last token (`extract`) for classification and choices, at every token for spans and tags, where a
token knows only what stands before it. What is minimised is L3 = L2 + λ L1: the task's loss and λ times that of the next
token, over all tokens of the task's inputs.
"""

import copy
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from stemma.errors import InputError, SettingsError
from stemma.families.gpt.inputs import Marks, last_places, marked, swapped
from stemma.families.gpt.network import (
    dropout_of,
    hidden_states,
    load_network,
    num_positions,
    save_network,
    with_more_tokens,
    word_vectors,
)
from stemma.files import atomic_path, read_json, write_json
from stemma.layers.dropout import dropped, masks_for
from stemma.layers.word_loss import word_loss
from stemma.protocols import HeadKind
from stemma.text.vocabulary import load_tokenizer

__all__ = ["GptEncoder", "Head", "TunedGpt", "load_encoder", "load_tuned", "save_auxiliary_weight"]

_TOKENIZER_FILES: Final = ("tokenizer.json", "tokenizer_config.json")
_HEAD: Final = "head.safetensors"
_ABOUT: Final = "head.json"
_TUNING: Final = "tuning.json"
_SPREAD: Final = 0.02  # of weights as they are drawn, as for the rest of the network
_OWN_TOKENS: Final = 3  # start, delimiter and extract


@dataclass(frozen=True, kw_only=True)
class Head:
    """What is asked of a network."""

    kind: HeadKind
    labels: list[str]
    symmetric: bool  # whether its two texts may change places
    marks: Marks

    @property
    def at_the_end(self) -> bool:
        """Whether the answer is read at the last token, or at every one."""
        return self.kind not in ("span", "tagging")

    @property
    def num_scores(self) -> int:
        """How many scores are read there."""
        return {"span": 2, "choice": 1, "regression": 1}.get(self.kind, len(self.labels))


class TunedGpt(nn.Module):
    """A network with a head on it."""

    def __init__(self, network: nn.Module, head: Head, auxiliary_weight: float = 0.0) -> None:
        super().__init__()
        self.network, self.about = network, head
        self.head = nn.Linear(word_vectors(network).shape[1], head.num_scores, bias=False)
        nn.init.normal_(self.head.weight, std=_SPREAD)
        self._auxiliary_weight = auxiliary_weight  # λ

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Scores of each input, or of each of its tokens."""
        ids, inside = self._read(input_ids, attention_mask, token_type_ids)
        return self._scores(hidden_states(self.network, ids, inside), inside)

    def logits_and_losses(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """What `forward` gives, and λ L1 if there is a λ."""
        ids, inside = self._read(input_ids, attention_mask, token_type_ids)
        hidden = hidden_states(self.network, ids, inside)
        scores = self._scores(hidden, inside)
        if not self._auxiliary_weight:
            return scores, {}
        followed = (inside[:, :-1] * inside[:, 1:]).bool()  # tokens behind which another stands
        features, words = hidden[:, :-1][followed], ids[:, 1:][followed]
        share = self._auxiliary_weight / len(words)
        return scores, {"lm": word_loss(features, word_vectors(self.network), None, words, share)}

    def _read(self, ids: Tensor, inside: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs as the network reads them; of a symmetric task in both orders, one below the other."""
        read = marked(ids, inside, self.about.marks)
        if not self.about.symmetric:
            return read, inside
        other = marked(swapped(ids, inside, types), inside, self.about.marks)
        return torch.cat([read, other]), torch.cat([inside, inside])

    def _scores(self, hidden: Tensor, inside: Tensor) -> Tensor:
        if self.about.at_the_end:
            hidden = hidden[torch.arange(len(hidden)), last_places(inside)]
            hidden = torch.stack(hidden.chunk(2)).sum(0) if self.about.symmetric else hidden
        result: Tensor = self.head(dropped(hidden, masks_for(dropout_of(self.network))))
        return result


class GptEncoder:
    """A pretrained GPT for a task's head to be put on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tokenizer = load_tokenizer(folder)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._network = load_network(folder)
        self._auxiliary_weight = float(read_json(folder / _TUNING)["auxiliary_weight"])
        self.max_length = num_positions(self._network)

    def with_head(self, kind: HeadKind, labels: Sequence[str], *, seed: int, symmetric: bool = False) -> TunedGpt:
        """A fresh copy with a new head and three new tokens, drawn from `seed`."""
        if symmetric and kind not in ("classification", "regression"):
            raise SettingsError(f"symmetric: a {kind} task has no two texts that may change places; leave it out")
        size = len(word_vectors(self._network))
        marks = Marks.behind(size, self._id("[CLS]"), self._id("[SEP]"))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = with_more_tokens(copy.deepcopy(self._network), _OWN_TOKENS)
            head = Head(kind=kind, labels=list(labels), symmetric=symmetric, marks=marks)
            return TunedGpt(network, head, self._auxiliary_weight)

    def save(self, model: nn.Module, out: Path) -> None:
        """Write a model made by `with_head`: the network as `from_pretrained` reads it, head and tokenizer beside it."""
        assert isinstance(model, TunedGpt)
        save_network(model.network, out)
        with atomic_path(out / _HEAD) as temporary:
            save_file({"weight": model.head.weight.detach().contiguous()}, temporary)
        write_json(out / _ABOUT, asdict(model.about))
        for name in _TOKENIZER_FILES:
            if (self._folder / name).is_file():
                shutil.copyfile(self._folder / name, out / name)

    def _id(self, token: str) -> int:
        id_: int | None = self.tokenizer.token_to_id(token)
        if id_ is None:
            raise InputError(f"{self._folder / _TOKENIZER_FILES[0]}: tasks need {token} in the vocabulary")
        return id_


def load_encoder(folder: Path) -> GptEncoder:
    """Load what `pretrain` wrote."""
    return GptEncoder(folder)


def load_tuned(folder: Path, kind: HeadKind) -> TunedGpt:
    """Load what `GptEncoder.save` wrote."""
    if not (folder / _ABOUT).is_file():
        raise InputError(f"{folder}: no tuned GPT here ({_ABOUT} is missing); run its stage")
    about = read_json(folder / _ABOUT)
    head = Head(**{**about, "marks": Marks(**about["marks"])})
    if head.kind != kind:
        raise InputError(f"{folder / _ABOUT}: tuned for {head.kind}, not for {kind}")
    model = TunedGpt(load_network(folder), head)
    model.head.load_state_dict(load_file(folder / _HEAD))
    return model


def save_auxiliary_weight(weight: float, out: Path) -> None:
    """Write λ beside a pretrained network: tuning reads nothing else of its settings."""
    write_json(out / _TUNING, {"auxiliary_weight": weight})
