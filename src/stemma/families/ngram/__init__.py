"""N-gram language models, by five ways of smoothing."""

ENCODER = False
