"""word2vec: vectors of words that predict their neighbours (Mikolov et al. 2013)."""

ENCODER = True
