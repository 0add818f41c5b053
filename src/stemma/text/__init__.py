"""From text to sentences and tokens."""
