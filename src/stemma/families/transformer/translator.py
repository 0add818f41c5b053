"""Text in one language to text in another, by a trained Transformer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from pydantic import Field, PositiveInt

from stemma.config import Settings
from stemma.data.batches import Ragged
from stemma.families.transformer.network import Decoding, load_network
from stemma.families.transformer.search import Bounds, beam_search, greedy_search
from stemma.files import read_json, verify_manifest, write_json
from stemma.text.detokenise import detokenise
from stemma.text.symbols import read_symbols
from stemma.text.vocabulary import load_tokenizer
from stemma.training.loop import deterministic

__all__ = ["NeuralTranslator", "SearchSettings", "load_translator", "save_search"]

_SEARCH: Final = "search.json"
_AT_ONCE: Final = 64  # sentences
_LONGER: Final = 50  # tokens by which a translation may be longer than its source, as in the paper


class SearchSettings(Settings):
    """How a translation is looked for."""

    beam: PositiveInt  # beginnings that are held; 1 takes the best token every time
    length_penalty: float = Field(ge=0)


class NeuralTranslator:
    """Translates sentences, each by itself."""

    def __init__(self, folder: Path) -> None:
        self._network = load_network(folder)
        self._search = SearchSettings.model_validate(read_json(folder / _SEARCH))
        self._symbols, self._tokenizer = read_symbols(folder), load_tokenizer(folder)

    def translate(self, sentences: Sequence[str], *, beam: int | None = None) -> list[str]:
        """The translations of some sentences; an empty one has an empty one."""
        encodings = self._tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
        tokens = Ragged.from_rows([encoding.ids for encoding in encodings], np.int64)
        order = np.argsort(tokens.lengths, kind="stable")
        order = order[tokens.lengths[order] > 0]
        found = [""] * len(sentences)
        with deterministic(threads=1), torch.inference_mode():
            for start in range(0, len(order), _AT_ONCE):
                some = order[start : start + _AT_ONCE]
                for number, ids in zip(some, self._translate(tokens.take(some), beam), strict=True):
                    found[number] = detokenise(self._tokenizer.decode(ids))
        return found

    def _translate(self, tokens: Ragged, beam: int | None) -> list[list[int]]:
        """The best tokens for each of some rows of tokens."""
        lengths, symbols = tokens.lengths, self._symbols
        source = np.full((len(lengths), int(lengths.max()) + 1), symbols.end, np.int64)
        source[np.arange(source.shape[1]) < lengths[:, None]] = symbols.readable(tokens.values)
        decoding = Decoding(self._network, torch.from_numpy(source), torch.from_numpy(lengths + 1))
        limits = torch.from_numpy(lengths + _LONGER)
        silent = (*symbols.silent, symbols.unknown)
        bounds = Bounds(begin=symbols.begin, end=symbols.end, silent=silent, limits=limits)
        width = beam or self._search.beam
        if width == 1:
            return greedy_search(decoding, bounds)
        return beam_search(decoding, bounds, width=width, penalty=self._search.length_penalty)


def save_search(settings: SearchSettings, out: Path) -> None:
    """Write how a model translates unless it is told otherwise."""
    write_json(out / _SEARCH, {name: getattr(settings, name) for name in SearchSettings.model_fields})


def load_translator(folder: Path) -> NeuralTranslator:
    """Load what `pretrain` wrote, once its bytes are found whole."""
    verify_manifest(folder)
    return NeuralTranslator(folder)
