"""Files that an installed package carries, so that the pipeline runs with no network and no files of the user's."""

import importlib.util
from pathlib import Path
from typing import Final

from stemma.errors import InputError

__all__ = ["WIKIPEDIA_SAMPLE", "bundled_path"]

WIKIPEDIA_SAMPLE: Final = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
_FILES: Final = {
    "wikipedia-sample": ("gensim", f"test/test_data/{WIKIPEDIA_SAMPLE}"),
    "wordsim353": ("gensim", "test/test_data/wordsim353.tsv"),
    "simlex999": ("gensim", "test/test_data/simlex999.txt"),
    "google-analogies": ("gensim", "test/test_data/questions-words.txt"),
}


def bundled_path(name: str) -> Path:
    """The file of a bundled text or set of questions, found without importing the package that carries it."""
    package, relative = _FILES[name]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise InputError(
            f"bundled source {name!r}: package {package} is not installed; install the locked dependencies"
        )
    path = Path(spec.origin).parent / relative
    if not path.is_file():
        raise InputError(f"{path}: no such file; this build of {package} does not carry the sample, install its wheel")
    return path
