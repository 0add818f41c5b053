"""What GPT's pretraining takes: an estimate of its floating-point operations.

Counted are the matrix products of the network, forward and backward; a multiplication and an addition are two operations. Not
counted: embeddings (looked up, not multiplied), normalisation, activations, softmax, dropout and the optimiser. What a token
may not see is not taken off the products of attention.
"""

from stemma.families.gpt.network import NetworkSettings

__all__ = ["pretraining_flops"]


def pretraining_flops(network: NetworkSettings, vocabulary_size: int, num_tokens: int) -> float:
    """6 x tokens x (weights of the blocks + attention + the softmax): each product has two of its size on the way back."""
    size = network.hidden_size
    if network.block == "lstm":
        block = 4 * 2 * size**2  # four gates, each from the input and from the state before
    else:
        block = 4 * size**2 + 2 * size * 4 * size  # query, key, value and output; then the feed-forward part
        block += 2 * size * network.max_length  # query times key, weights times value
    return 6.0 * num_tokens * (network.layers * block + size * vocabulary_size)
