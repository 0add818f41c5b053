"""How many threads the `tokenizers` library uses."""

import os

__all__ = ["use_threads"]


def use_threads(num_threads: int) -> None:
    """Let the library use so many threads; it looks once, so this comes before its first work. Results do not depend on it."""
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if num_threads > 1 else "false"
    os.environ.setdefault("RAYON_NUM_THREADS", str(num_threads))
