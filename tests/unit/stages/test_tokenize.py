from pathlib import Path

import pytest

from stemma.data.clean_documents import CLEAN_SCHEMA
from stemma.data.documents import RowGroupWriter
from stemma.data.splits import SPLITS
from stemma.data.token_store import TokenStore
from stemma.files import read_json
from stemma.progress import NullProgress
from stemma.stages import tokenize
from stemma.text.vocabulary import learn_tokenizer, load_tokenizer, save_tokenizer
from tests.toy_corpora import params

DOCUMENTS = {"train": [["The cat sat.", "The dog ran."], ["A cat."]], "validation": [["The bird."]], "test": []}
WORDS = [("the", 9), ("cat", 5), (".", 5), ("dog", 4), ("sat", 3), ("ran", 3), ("a", 3)]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(variable, "")  # restored afterwards: the stage sets them
    for split, documents in DOCUMENTS.items():
        with RowGroupWriter(tmp_path / "toy" / split, "part", CLEAN_SCHEMA) as writer:
            for number, sentences in enumerate(documents):
                writer.write({"id": str(number), "source": "toy", "sentences": sentences}, 10)
    settings = params().tokenizers["word"]
    save_tokenizer(learn_tokenizer(WORDS, settings), settings, tmp_path / "word")
    tokenize.run(NullProgress(), corpus=tmp_path / "toy", tokenizer=tmp_path / "word", out=tmp_path / "out")
    return tmp_path / "out"


def test_every_split_is_a_store_of_its_sentences(store: Path) -> None:
    tokenizer = load_tokenizer(store.parent / "word")
    for split in SPLITS:
        tokens = TokenStore.open(store / split)
        tokens.verify()
        found = [[tokens.sentence(s).tolist() for s in tokens.document(d)] for d in range(tokens.num_documents)]
        expected = [
            [tokenizer.encode(sentence, add_special_tokens=False).ids for sentence in document]
            for document in DOCUMENTS[split]
        ]
        assert found == expected
        assert tokens.num_bytes == sum(len(sentence) for document in DOCUMENTS[split] for sentence in document)


def test_the_report_says_how_the_vocabulary_fits(store: Path) -> None:
    report = read_json(store / "report.json")
    assert report["vocabulary_size"] == 14
    assert report["splits"]["train"]["fertility"] == 1.0
    assert report["splits"]["train"]["unknown_rate"] == 0.0
    assert report["splits"]["validation"]["unknown"] == 1
    assert report["splits"]["test"] == {
        "documents": 0, "sentences": 0, "words": 0, "tokens": 0, "unknown": 0, "bytes": 0, "fertility": 0.0, "unknown_rate": 0.0,
    }  # fmt: skip
