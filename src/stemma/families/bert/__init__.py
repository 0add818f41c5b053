"""BERT: a bidirectional Transformer, trained on hidden words and pairs of sentences (Devlin et al. 2019)."""

ENCODER = True
TRANSFER = True  # what a task has tuned of it can be the start of another
