"""What BERT's pretraining takes: an estimate of its floating-point operations.

Counted are the matrix products of the network as the paper has it, forward and backward; a multiplication and an addition are two
operations. Not counted: embeddings (looked up, not multiplied), normalisation, activations, softmax, dropout, the optimiser, and
padding. What the engine saves (the last block only where its output is asked for) is not taken off, so that the figure says what
the model asks for, not how it was run.
"""

from stemma.families.bert.network import NetworkSettings

__all__ = ["pretraining_flops"]


def pretraining_flops(
    network: NetworkSettings, vocabulary_size: int, *, num_tokens: int, num_words: float, num_pairs: int
) -> float:
    """6 x (weights of a block x tokens + attention + weights of the heads x what they are asked).

    Each product of the forward pass has two of the same size in the backward pass, for the gradients of its two factors: 2 x 3
    operations a multiplication. `num_words` are hidden words to predict. A token attends to `max_length` others: rows are
    packed full.
    """
    hidden, inner = network.hidden_size, network.intermediate_size
    block = 4 * hidden**2 + 2 * hidden * inner  # query, key, value and output; then the feed-forward part
    attention = 2 * hidden * network.max_length  # query times key, weights times value
    word = hidden**2 + hidden * vocabulary_size
    pair = hidden**2 + 2 * hidden  # pooler, and next sentence or not
    return 6.0 * (num_tokens * network.layers * (block + attention) + num_words * word + num_pairs * pair)
