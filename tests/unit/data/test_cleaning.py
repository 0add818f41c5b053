import random
from pathlib import Path

from stemma.config import Splits
from stemma.data.cleaning import CleanedDocument, DocumentPool, KeptDocument, PackedDocuments, pack_documents
from stemma.data.splits import Split, split_of
from stemma.data.workers import in_batches
from stemma.data.workspace import Workspace
from stemma.text.clean_text import clean_text
from stemma.text.sentences import split_sentences
from tests.toy_corpora import params, texts

SPLITS = Splits(validation=0.2, test=0.2)
CLEANING = params().cleaning


def packed(pool: DocumentPool, *items: tuple[str, str]) -> PackedDocuments:
    texts = {key: clean_text(text.encode(), "NFC") for key, text in items}
    documents = [CleanedDocument(key, "source", text.sentences, text.words, text.digest) for key, text in texts.items()]
    return pack_documents(documents, SPLITS, CLEANING.near_duplicates, pool.texts_dir)


def pooled(
    folder: Path, documents: dict[str, str], memory: int = 1 << 22
) -> tuple[dict[Split, list[KeptDocument]], dict[str, int]]:
    folder.mkdir()
    with DocumentPool(Workspace(folder, memory), CLEANING) as pool:
        for batch in in_batches(documents.items(), size_of=lambda _: 1, limit=7):
            pool.add(packed(pool, *batch.items))
        kept = {split: list(found) for split, found in pool.documents()}
    return kept, {kind: sum(counts.values()) for kind, counts in pool.duplicates.items()}


def ids_of(split: str, count: int) -> list[str]:
    return [key for key in map(str, range(1000)) if split_of(key, SPLITS) == split][:count]


def test_documents_come_back_whole_and_by_split(tmp_path: Path) -> None:
    documents = dict(zip(map(str, range(40)), texts(40), strict=True))
    kept, removed = pooled(tmp_path / "a", documents)
    expected = {key: split_sentences(text) for key, text in documents.items()}
    assert {
        document.id.decode(): document.sentences.decode().split("\n") for found in kept.values() for document in found
    } == expected
    sentences = [sentence for found in expected.values() for sentence in found]
    counts = [document.count() for found in kept.values() for document in found]
    assert [sum(column) for column in zip(*counts, strict=True)] == [len(sentences), sum(map(len, sentences))]
    assert list(kept) == ["test", "validation", "train"]
    for split, found in kept.items():
        assert {split_of(document.id.decode(), SPLITS) for document in found} == {split}
    assert removed == {"exact": 0, "near": 0}


def test_order_of_arrival_and_memory_change_nothing(tmp_path: Path) -> None:
    documents = dict(zip(map(str, range(60)), texts(60, sentences=10), strict=True))
    documents |= {f"copy {key}": documents[key] for key in ("3", "5")}
    documents |= {f"near {key}": documents[key] + " End." for key in ("7", "11", "13")}
    shuffled = dict(random.Random(1).sample(list(documents.items()), len(documents)))
    first, removed = pooled(tmp_path / "a", documents)
    assert removed == {"exact": 2, "near": 3}
    assert pooled(tmp_path / "b", shuffled) == (first, removed)
    assert pooled(tmp_path / "c", documents, memory=1) == (first, removed)


def test_of_a_pair_across_splits_the_training_copy_goes(tmp_path: Path) -> None:
    train, validation, test = (ids_of(split, 2) for split in ("train", "validation", "test"))
    a, b, c, d = texts(4)
    documents = {train[0]: a, test[0]: a, train[1]: b, test[1]: b + " Changed.", validation[0]: c, test[0] + "x": d}
    documents[validation[1]] = a
    kept, removed = pooled(tmp_path / "a", documents)
    ids = {document.id.decode() for found in kept.values() for document in found}
    assert {test[0], test[1], validation[0]} <= ids
    assert not {train[0], train[1], validation[1]} & ids
    assert removed == {"exact": 2, "near": 1}


def test_one_id_with_two_texts_has_one_order(tmp_path: Path) -> None:
    one, two = texts(2)

    def order(folder: Path, *documents: str) -> list[bytes]:
        folder.mkdir()
        with DocumentPool(Workspace(folder, 1 << 20), CLEANING) as pool:
            for text in documents:
                pool.add(packed(pool, ("same", text)))
            return [document.sentences for _, found in pool.documents() for document in found]

    assert order(tmp_path / "a", one, two) == order(tmp_path / "b", two, one)
