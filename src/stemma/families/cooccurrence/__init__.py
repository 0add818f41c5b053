"""Word vectors by counting: co-occurrences, weighed by mutual information, in few dimensions."""

ENCODER = True
