"""What GPT's pretraining takes: an estimate of its floating-point operations.

Counted are the matrix products of the network as the paper has it, forward and backward; a multiplication and an addition are two
operations. Not counted: embeddings (looked up, not multiplied), normalisation, activations, softmax, dropout and the optimiser.
What a token may not see is not taken off the products of attention.
"""

__all__ = ["pretraining_flops"]


def pretraining_flops(*, layers: int, size: int, width: int, vocabulary_size: int, num_tokens: int) -> float:
    """6 x tokens x (weights of the blocks + attention + the softmax): each product has two of the same size on the way back."""
    block = 4 * size**2 + 2 * size * 4 * size  # query, key, value and output; then the feed-forward part
    attention = 2 * size * width  # query times key, weights times value
    return 6.0 * num_tokens * (layers * (block + attention) + size * vocabulary_size)
