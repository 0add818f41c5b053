"""A folder of BERT's weights as other tools write one: the encoder alone, and a tokenizer that cuts and pads."""

from pathlib import Path
from typing import Any, Final

import torch
import transformers

from stemma.files import write_json
from tests.toy_bert import tokenizer, write_tokenizer

CUT: Final = 6  # tokens, as the tokenizer's file says


def make_network(*, dropout: float = 0.0) -> Any:
    """A network with random weights, its biases too, so that none is forgotten unseen."""
    config = transformers.BertConfig(
        vocab_size=len(tokenizer().get_vocab()),
        num_hidden_layers=2,
        hidden_size=16,
        num_attention_heads=2,
        intermediate_size=32,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        max_position_embeddings=32,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        networks: Any = transformers
        network = networks.BertModel(config)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.2)
    return network.eval()


def write_weights(folder: Path, network: Any, **config: Any) -> Path:
    """Save a network and the toy tokenizer; `config` changes what its configuration says."""
    write_tokenizer(folder)
    cutting = tokenizer()
    cutting.enable_truncation(CUT)
    cutting.enable_padding(length=CUT)
    cutting.save(str(folder / "tokenizer.json"))
    network.save_pretrained(folder)
    if config:
        write_json(folder / "config.json", {**network.config.to_dict(), **config})
    return folder
