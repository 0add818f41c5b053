"""The neural probabilistic language model: a word from the vectors of the few before it."""

ENCODER = True
