"""GPT as a task has tuned it, without the task's head and its three tokens: what another task starts from."""

import shutil
from typing import Final

from stemma.families.base import Transferring
from stemma.families.gpt.encoder import load_tuned
from stemma.families.gpt.network import load_network, save_network

__all__ = ["transfer"]

_FILES: Final = ("tuning.json", "tokenizer.json", "tokenizer_config.json")


def transfer(job: Transferring) -> None:
    """Write the pretrained network with the tuned weights in place of its own."""
    network, tuned = load_network(job.pretrained), load_tuned(job.tuned, job.kind).network
    sizes = {name: len(tensor) for name, tensor in network.state_dict().items()}
    weights = {
        name: tensor[: sizes[name]] for name, tensor in tuned.state_dict().items()
    }  # a task's tokens are the last
    network.load_state_dict(weights)
    save_network(network, job.out)
    for name in _FILES:
        if (job.pretrained / name).is_file():
            shutil.copyfile(job.pretrained / name, job.out / name)
