"""ELMo: two language models, one from each side, whose states are a word's vector in its context (Peters et al. 2018)."""

ENCODER = True
