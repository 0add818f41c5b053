import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, pre_tokenizers

from stemma import config
from stemma.text import encoding
from stemma.text.encoding import Fit, SentenceEncoder, encode_documents
from stemma.text.vocabulary import learn_tokenizer

WORDS = [
    ("walking", 9),
    ("the", 8),
    ("cat", 7),
    (".", 6),
    (",", 5),
    ("算", 4),
    ("盤", 3),
    ("é", 2),
    ("[", 2),
    ("mask", 2),
]
TEXTS = ["The cat, walking.", "", "算盤 café CAT!", "[MASK] <unk> </s> \u200b", "  ", "dog"]


def tokenizer(kind: str = "wordpiece") -> Tokenizer:
    settings = {"corpus": "c", "kind": kind, "vocabulary_size": 60, "min_frequency": 1, "lowercase": True}
    made = learn_tokenizer(WORDS, config.Tokenizer.model_validate(settings))
    made.encode_special_tokens = True
    return made


def whole(made: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [encoded.ids for encoded in made.encode_batch(texts, add_special_tokens=False)]


def pieces(made: Tokenizer, texts: list[str]) -> list[list[int]]:
    at_spaces = isinstance(made.pre_tokenizer, pre_tokenizers.WhitespaceSplit)
    ids, lengths, _ = SentenceEncoder(made, at_spaces=at_spaces).encode(texts)
    found, begin = [], 0
    for length in lengths.tolist():
        found.append(ids[begin : begin + length].tolist())
        begin += length
    assert begin == len(ids)
    return found


@pytest.mark.parametrize("kind", ["wordpiece", "word", "spaces"])
def test_ids_are_those_of_whole_sentences(kind: str) -> None:
    made = tokenizer(kind)
    assert pieces(made, TEXTS) == whole(made, TEXTS)
    assert pieces(made, []) == []


MADE = {kind: tokenizer(kind) for kind in ("wordpiece", "word", "spaces")}


@given(st.lists(st.text(max_size=40), max_size=6), st.sampled_from(["wordpiece", "word", "spaces"]))
def test_ids_are_those_of_whole_sentences_for_any_text(texts: list[str], kind: str) -> None:
    assert pieces(MADE[kind], texts) == whole(MADE[kind], texts)


@pytest.mark.parametrize("remembered", [1, 4, 1000])
def test_remembering_words_changes_nothing(remembered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "WORDS_REMEMBERED", remembered)
    made = tokenizer()
    encoder = SentenceEncoder(made)
    for text in ("the cat", "the dog, the cat", "walking the walking dog", "a b c d e f g", "cat cat", "the e"):
        assert encoder.encode([text])[0].tolist() == whole(made, [text])[0]


@pytest.mark.parametrize("limit", [1, 20, 1 << 19])
def test_documents_keep_their_sentences_whatever_the_batches(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "BYTES_PER_BATCH", limit)
    made, fit = tokenizer("word"), Fit()
    documents = pa.array([["skipped"], ["The cat.", " ", "walking"], [], ["dog", "算盤"]])[1:]
    first, second = encode_documents(SentenceEncoder(made), documents, fit)
    assert [made.id_to_token(number) for number in first.ids] == ["the", "cat", ".", "walking"]
    assert first.sentence_lengths.tolist() == [3, 1]
    assert first.num_bytes == len("The cat.walking")
    assert [made.id_to_token(number) for number in second.ids] == ["[UNK]", "算", "盤"]
    assert fit.report() == {
        "documents": 2,
        "sentences": 4,
        "words": 7,
        "tokens": 7,
        "unknown": 1,
        "bytes": 24,
        "fertility": 1.0,
        "unknown_rate": round(1 / 7, 6),
    }
