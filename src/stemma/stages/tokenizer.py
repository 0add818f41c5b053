"""Stage `tokenizer`: the training split of a cleaned corpus -> a vocabulary."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stemma.config import Params, Tokenizer
from stemma.data.clean_documents import read_clean
from stemma.data.workers import open_workers
from stemma.data.workspace import data_threads, open_workspace
from stemma.errors import InputError
from stemma.files import atomic_dir
from stemma.progress import Progress
from stemma.text.segmentation import load_segmenter
from stemma.text.threads import use_threads
from stemma.text.vocabulary import (
    KINDS_AT_SPACES,
    learn_tokenizer,
    num_words_to_learn_from,
    save_tokenizer,
    word_splitter,
)
from stemma.text.word_counts import WordCount, WordCounter

__all__ = ["run"]

SHARE_OF_MEMORY: Final = 32  # the rest is for the trainer
SENTENCES_AT_ONCE: Final = 1024


def run(name: str, params: Params, progress: Progress, *, corpus: Path, out: Path) -> None:
    """Count the words of the training split, and learn tokenizer `name` from them."""
    use_threads(data_threads())
    settings = params.tokenizers[name]
    words = _count_words(settings, progress, corpus)
    if not words:
        raise InputError(f"{corpus / 'train'}: no words to learn a vocabulary from")
    progress.start("learning the vocabulary", None, "words")
    with atomic_dir(out) as folder:
        save_tokenizer(learn_tokenizer(words, settings), settings, folder)


def _count_words(settings: Tokenizer, progress: Progress, corpus: Path) -> list[WordCount]:
    segment = load_segmenter() if settings.kind == "jieba" else None
    with open_workers(data_threads() if segment else 1) as workers, open_workspace("tokenizer") as workspace:
        memory = workspace.memory_limit // SHARE_OF_MEMORY
        at_spaces = settings.kind in KINDS_AT_SPACES
        counter = WordCounter(workspace.folder, memory=memory, split_word=word_splitter(settings), at_spaces=at_spaces)
        progress.start("counting words", None, "sentences")
        texts = _training_texts(corpus)
        for number, text in enumerate(workers.spread(segment, texts) if segment else texts, start=1):
            counter.add(text)
            progress.update(number * SENTENCES_AT_ONCE)
        return counter.most_frequent(num_words_to_learn_from(settings))


def _training_texts(corpus: Path) -> Iterator[str]:
    """The sentences of the training split, some at a time as Python strings, however long their document is."""
    for table in read_clean(corpus, "train"):
        sentences = table["sentences"].combine_chunks().flatten()
        for begin in range(0, len(sentences), SENTENCES_AT_ONCE):
            yield "\n".join(sentences[begin : begin + SENTENCES_AT_ONCE].to_pylist())
