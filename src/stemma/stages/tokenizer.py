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

SHARE_OF_MEMORY: Final = 32  # the rest is for the trainer
SENTENCES_AT_ONCE: Final = 1024


def run(name: str, params: Params, progress: Progress, *, corpus: Path, out: Path) -> None:
    """Count the words of the training split, and learn tokenizer `name` from them."""
    use_threads(data_threads())
    settings = params.tokenizers[name]
    with open_workspace("tokenizer") as workspace:
        memory = workspace.memory_limit // SHARE_OF_MEMORY
        counter = WordCounter(workspace.folder, memory=memory, split_word=word_splitter(settings))
        progress.start("counting words", None, "sentences")
        for number, text in enumerate(_training_texts(corpus), start=1):
            counter.add(text)
            progress.update(number * SENTENCES_AT_ONCE)
        words = counter.most_frequent(num_words_to_learn_from(settings))
    if not words:
        raise InputError(f"{corpus / 'train'}: no words to learn a vocabulary from")
    progress.start("learning the vocabulary", None, "words")
    with atomic_dir(out) as folder:
        save_tokenizer(learn_tokenizer(words, settings), settings, folder)


def _training_texts(corpus: Path) -> Iterator[str]:
    """The sentences of the training split, some at a time as Python strings, however long their document is."""
    for table in read_clean(corpus, "train"):
        sentences = table["sentences"].combine_chunks().flatten()
        for begin in range(0, len(sentences), SENTENCES_AT_ONCE):
            yield "\n".join(sentences[begin : begin + SENTENCES_AT_ONCE].to_pylist())
