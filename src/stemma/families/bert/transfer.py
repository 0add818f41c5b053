"""BERT as a task has tuned it, without the task's head: what another task starts from.

The pretraining heads stay as they were, for the folder's sake. So does the pooled layer where the task had no use for it.
"""

from typing import Any

from stemma.families.base import Transferring
from stemma.families.bert.network import load_pretrained, load_tuned, save_network

__all__ = ["transfer"]


def transfer(job: Transferring) -> None:
    """Write the pretrained network with the tuned encoder in place of its own."""
    network: Any = load_pretrained(job.pretrained)
    tuned: Any = load_tuned(job.tuned, job.kind)
    network.bert.load_state_dict({**network.bert.state_dict(), **tuned.network.bert.state_dict()})
    save_network(network, job.pretrained, job.out)
