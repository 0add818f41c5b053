"""The Transformer: an encoder that reads a sentence, and a decoder that writes its translation."""

ENCODER = False
PARALLEL = True  # its corpus is one of sentences with their translations
