"""What the Transformer's training takes: an estimate of its floating-point operations.

Counted are the matrix products of the network, forward and backward; a multiplication and an addition are two operations. Not
counted: vectors (looked up, not multiplied), normalisation, softmax, dropout, the optimiser, and padding. Of the decoder's
attention to itself all products are counted, though half of them are of what it may not see.
"""

import numpy as np
import numpy.typing as npt

from stemma.families.transformer.network import NetworkSettings

__all__ = ["pair_flops"]

Ints = npt.NDArray[np.int64]


def pair_flops(network: NetworkSettings, vocabulary_size: int, sources: Ints, targets: Ints) -> float:
    """6 x (weights x the tokens that they are multiplied with + attention), for pairs of so many tokens.

    Each product of the forward pass has two of the same size in the backward pass, for the gradients of its two factors: 2 x 3
    operations a multiplication.
    """
    hidden, inner = network.hidden_size, network.intermediate_size
    feed_forward = 2 * hidden * inner
    encoder = sources * (4 * hidden**2 + feed_forward + 2 * hidden * sources)
    # attention to itself, and to the source, whose keys and values are products of the source's tokens
    decoder = targets * (4 * hidden**2 + 2 * hidden * targets)
    decoder += targets * (2 * hidden**2 + 2 * hidden * sources + feed_forward) + sources * 2 * hidden**2
    return 6.0 * float((network.layers * (encoder + decoder) + targets * hidden * vocabulary_size).sum())
