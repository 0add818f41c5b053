"""GPT: a Transformer that reads from left to right, trained to predict the next token (Radford et al. 2018)."""

ENCODER = True
