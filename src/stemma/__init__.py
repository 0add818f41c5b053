"""Stemma: the family tree of pre-trained language models, from a corpus to a promoted model."""

__version__ = "0.1.0"
__all__ = ["__version__"]
