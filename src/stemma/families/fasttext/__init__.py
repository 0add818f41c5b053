"""fastText: vectors of words made of the vectors of their parts (Bojanowski et al. 2017)."""

ENCODER = True
