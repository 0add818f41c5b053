"""Stage `tokenizer`: the training split of a cleaned corpus -> a vocabulary."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stemma.config import Params
from stemma.data.clean_documents import read_clean
from stemma.data.workspace import data_threads, open_workspace
from stemma.errors import InputError
from stemma.files import atomic_dir
from stemma.progress import Progress
from stemma.text.threads import use_threads
from stemma.text.vocabulary import learn_tokenizer, num_words_to_learn_from, save_tokenizer, word_splitter
from stemma.text.word_counts import WordCounter

__all__ = ["run"]

SHARE_OF_MEMORY: Final = 16  # the rest is for the trainer


def run(name: str, params: Params, progress: Progress, *, corpus: Path, out: Path) -> None:
    """Count the words of the training split, and learn tokenizer `name` from them."""
    use_threads(data_threads())
    settings = params.tokenizers[name]
    with open_workspace("tokenizer") as workspace:
        memory = workspace.memory_limit // SHARE_OF_MEMORY
        counter = WordCounter(workspace.folder, memory=memory, split_word=word_splitter(settings))
        progress.start("counting words", None, "documents")
        for number, text in enumerate(_training_texts(corpus), start=1):
            counter.add(text)
            progress.update(number)
        words = counter.most_frequent(num_words_to_learn_from(settings))
    if not words:
        raise InputError(f"{corpus / 'train'}: no words to learn a vocabulary from")
    progress.start("learning the vocabulary", None, "words")
    with atomic_dir(out) as folder:
        save_tokenizer(learn_tokenizer(words, settings), settings, folder)


def _training_texts(corpus: Path) -> Iterator[str]:
    for table in read_clean(corpus, "train"):
        for batch in table.to_batches(max_chunksize=16):  # few texts at a time as Python strings
            yield from map("\n".join, batch["sentences"].to_pylist())
