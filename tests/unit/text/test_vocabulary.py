import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from stemma import config
from stemma.errors import InputError, SettingsError
from stemma.text.vocabulary import (
    SPECIAL_TOKENS,
    UNKNOWN_ID,
    WORD_SPECIAL_TOKENS,
    learn_tokenizer,
    load_tokenizer,
    read_kind,
    save_tokenizer,
    word_splitter,
)
from stemma.text.word_counts import WordCount

# Counts with many ties, which is where a trainer's order could show.
WORDS: list[WordCount] = sorted(
    [
        (f"{stem}{end}", 3 + len(end))
        for stem in ("walk", "talk", "jump", "play", "算")
        for end in ("", "s", "ed", "ing")
    ],
    key=lambda item: (-item[1], item[0]),
)


def settings(
    kind: Literal["wordpiece", "word", "spaces", "jieba"] = "wordpiece", **changes: object
) -> config.Tokenizer:
    values = {"corpus": "c", "kind": kind, "vocabulary_size": 60, "min_frequency": 2, "lowercase": True} | changes
    return config.Tokenizer.model_validate(values)


def test_special_tokens_have_fixed_ids() -> None:
    wordpiece, word = learn_tokenizer(WORDS, settings()), learn_tokenizer(WORDS, settings("word"))
    assert [wordpiece.token_to_id(token) for token in SPECIAL_TOKENS] == [0, 1, 2, 3, 4]
    assert [word.token_to_id(token) for token in WORD_SPECIAL_TOKENS] == [0, 1, 2, 3, 4, 5, 6]


def test_pairs_are_put_together_as_bert_does() -> None:
    encoding = learn_tokenizer(WORDS, settings("word")).encode("walk", "talk jump")
    assert encoding.tokens == ["[CLS]", "walk", "[SEP]", "talk", "jump", "[SEP]"]
    assert encoding.type_ids == [0, 0, 0, 1, 1, 1]


def test_wordpiece_learns_the_endings() -> None:
    tokenizer = learn_tokenizer([pair for pair in WORDS if pair[0] != "playing"], settings(vocabulary_size=100))
    assert tokenizer.encode("playing", add_special_tokens=False).tokens == ["play", "##ing"]
    assert tokenizer.encode("算ing", add_special_tokens=False).tokens[0] == "算"
    assert tokenizer.decode(tokenizer.encode("playing").ids) == "playing"


def test_a_vocabulary_stays_within_its_size() -> None:
    assert learn_tokenizer(WORDS, settings(vocabulary_size=40)).get_vocab_size() <= 40
    assert learn_tokenizer(WORDS, settings("word", vocabulary_size=32)).get_vocab_size() == 27
    with pytest.raises(SettingsError, match="vocabulary_size 10 is below 32"):
        learn_tokenizer(WORDS, settings(vocabulary_size=10))


def test_chinese_characters_take_one_place_each() -> None:
    words = [(chr(0x4E00 + number), 100 - number) for number in range(90)]
    tokenizer = learn_tokenizer(words, settings(vocabulary_size=100))
    assert sum(word in tokenizer.get_vocab() for word, _ in words) == 70  # three quarters, less the special tokens
    assert words[69][0] in tokenizer.get_vocab()
    assert tokenizer.encode(words[70][0], add_special_tokens=False).tokens == ["[UNK]"]


def test_rare_words_are_unknown() -> None:
    tokenizer = learn_tokenizer([("common", 5), ("rare", 1)], settings("word"))
    assert tokenizer.encode("common rare", add_special_tokens=False).tokens == ["common", "[UNK]"]


def test_the_word_vocabulary_is_the_library_trainers() -> None:
    trained = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    trained.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordLevelTrainer(
        vocab_size=20, min_frequency=2, special_tokens=list(WORD_SPECIAL_TOKENS), show_progress=False
    )
    trained.train_from_iterator([" ".join([word] * count) for word, count in WORDS], trainer)
    tokenizer = learn_tokenizer(WORDS, settings("word", vocabulary_size=32))
    assert {token for token, number in tokenizer.get_vocab().items() if number < 20} == set(trained.get_vocab())


def test_case_and_accents() -> None:
    assert word_splitter(settings())("Café") == ("cafe",)
    assert word_splitter(settings("word"))("Café") == ("café",)
    assert word_splitter(settings(lowercase=False))("Café") == ("Café",)


def test_special_tokens_in_a_text_are_words(tmp_path: Path) -> None:
    save_tokenizer(learn_tokenizer(WORDS, settings()), settings(), tmp_path)
    assert 4 not in load_tokenizer(tmp_path).encode("[MASK]").ids


def test_what_text_can_not_hold_is_unknown_where_words_stand_between_spaces(tmp_path: Path) -> None:
    words: list[WordCount] = [
        ("the", 9),
        ("[UNK]", 8),
        ("u.s.", 7),
    ]  # the counter sees what the normaliser makes of `<unk>`
    asked = settings("spaces")
    save_tokenizer(learn_tokenizer(words, asked), asked, tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    assert word_splitter(asked)("<unk>") == ("[UNK]",)
    assert word_splitter(asked)("\u200b") == ("\u200b",)  # WikiText-2 has such words
    assert tokenizer.get_vocab_size() == 9
    assert tokenizer.encode("The U.S. <unk>", add_special_tokens=False).tokens == ["the", "u.s.", "[UNK]"]
    assert set(tokenizer.encode("<s> </s> <unk>x", add_special_tokens=False).ids) == {UNKNOWN_ID}
    cased = learn_tokenizer(words, settings("spaces", lowercase=False))
    cased.encode_special_tokens = True
    assert set(cased.encode("[MASK] [PAD] [CLS] [SEP]", add_special_tokens=False).ids) == {UNKNOWN_ID}


def test_a_folder_says_its_kind(tmp_path: Path) -> None:
    assert read_kind(tmp_path) is None
    save_tokenizer(learn_tokenizer(WORDS, settings("spaces")), settings("spaces"), tmp_path)
    assert read_kind(tmp_path) == "spaces"


def test_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tokenizer.json: no such file; run the stage `tokenizer`"):
        load_tokenizer(tmp_path)


LEARN = """
import json, sys
from pathlib import Path
from stemma import config
from stemma.text.vocabulary import learn_tokenizer, save_tokenizer
words = [tuple(pair) for pair in json.loads(sys.stdin.read())]
settings = config.Tokenizer(corpus="c", kind="wordpiece", vocabulary_size=300, min_frequency=1, lowercase=True)
save_tokenizer(learn_tokenizer(words, settings), settings, Path(sys.argv[1]))
"""


def test_wordpiece_is_the_same_in_any_process_and_thread_pool(tmp_path: Path) -> None:
    words = [(f"{chr(97 + a)}{chr(97 + b)}{chr(97 + c)}x", 2) for a in range(12) for b in range(12) for c in range(12)]
    files = set()
    for number, threads in enumerate(("1", "2", "2")):
        environment = {**os.environ, "RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "true"}
        command = [sys.executable, "-c", LEARN, str(tmp_path / str(number))]
        subprocess.run(command, input=json.dumps(words), text=True, check=True, env=environment)
        files.add((tmp_path / str(number) / "tokenizer.json").read_bytes())
    assert len(files) == 1
