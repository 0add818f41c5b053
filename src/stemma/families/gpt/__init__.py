"""GPT: a Transformer that reads from left to right, trained to predict the next token (Radford et al. 2018)."""

ENCODER = True
TRANSFER = True  # what a task has tuned of it can be the start of another
