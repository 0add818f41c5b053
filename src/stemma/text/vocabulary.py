"""Tokenizers of the project: learned from counted words, saved as `transformers` loads them.

wordpiece   splits as BERT does, and then into pieces
word        splits as BERT does; keeps accents, which tell words apart, while WordPiece drops them with the case
spaces      a word is what stands between spaces, as it is: for text that was tokenized before
jieba       Chinese words by jieba (see `segmentation`); what stands between them is split as BERT does

All share the first ids, so that every token store means the same by them. What prepared text writes for a word that it left
out, `<unk>`, is our unknown word. So is what looks like a special token of ours, in the kind that does not cut it to pieces.

A `jieba` tokenizer's own files take text that has spaces between its words; `load_tokenizer` gives it jieba for plain text.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from stemma import config
from stemma.errors import InputError, SettingsError
from stemma.files import canonical_json, read_json, write_text
from stemma.text.segmentation import chinese_pre_tokenizer, plain_normalizer
from stemma.text.word_counts import MAX_WORD_CHARACTERS, WordCount
from stemma.text.wordpiece import PREFIX, learn_wordpieces

__all__ = [
    "KINDS_AT_SPACES",
    "SPECIAL_TOKENS",
    "UNKNOWN_ID",
    "WORD_SPECIAL_TOKENS",
    "learn_tokenizer",
    "load_tokenizer",
    "load_words",
    "num_words_to_learn_from",
    "read_kind",
    "save_tokenizer",
    "word_splitter",
]

SPECIAL_TOKENS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")  # ids 0 to 4
WORD_SPECIAL_TOKENS: Final = (*SPECIAL_TOKENS, "<s>", "</s>")  # ids 0 to 6
UNKNOWN_ID: Final = 1
KINDS_AT_SPACES: Final = ("spaces", "jieba")  # whose words, once segmented, are what stands between spaces
MIN_VOCABULARY: Final = 32
TOKENIZER_FILE: Final = "tokenizer.json"
CONFIG_FILE: Final = "tokenizer_config.json"
MIN_TRAINING_WORDS: Final = 30_000


def num_words_to_learn_from(settings: config.Tokenizer) -> int:
    """How many of the most frequent words matter: for WordPiece so many that rarer ones hardly change what is merged.

    The bound keeps the trainer's memory and time from growing with the corpus.
    """
    if settings.kind != "wordpiece":
        return settings.vocabulary_size
    return max(MIN_TRAINING_WORDS, 5 * settings.vocabulary_size)


def word_splitter(settings: config.Tokenizer) -> Callable[[str], tuple[str, ...]]:
    """What a tokenizer of these settings makes of a word before it looks it up."""
    normalizer, pre_tokenizer = _normalizer(settings), _pre_tokenizer(settings)

    def split(word: str) -> tuple[str, ...]:
        return tuple(piece for piece, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(word)))

    return split


def learn_tokenizer(words: Sequence[WordCount], settings: config.Tokenizer) -> Tokenizer:
    """A tokenizer whose vocabulary comes from words by falling count."""
    if settings.vocabulary_size < MIN_VOCABULARY:
        raise SettingsError(f"tokenizers: vocabulary_size {settings.vocabulary_size} is below {MIN_VOCABULARY}")
    if settings.kind != "wordpiece":
        frequent = (word for word, count in words if count >= settings.min_frequency)
        kept = [word for word in frequent if word not in WORD_SPECIAL_TOKENS]
        tokens = [*WORD_SPECIAL_TOKENS, *kept][: settings.vocabulary_size]
        model: models.Model = models.WordLevel(
            {token: number for number, token in enumerate(tokens)}, unk_token=SPECIAL_TOKENS[UNKNOWN_ID]
        )
        return _assemble(model, settings, WORD_SPECIAL_TOKENS)
    pieces = learn_wordpieces(
        words,
        special_tokens=SPECIAL_TOKENS,
        vocabulary_size=settings.vocabulary_size,
        min_frequency=settings.min_frequency,
    )
    model = models.WordPiece(
        pieces,
        unk_token=SPECIAL_TOKENS[UNKNOWN_ID],
        continuing_subword_prefix=PREFIX,
        max_input_chars_per_word=MAX_WORD_CHARACTERS,
    )
    tokenizer = _assemble(model, settings, SPECIAL_TOKENS)
    tokenizer.decoder = decoders.WordPiece(prefix=PREFIX)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, settings: config.Tokenizer, folder: Path) -> None:
    """Write the two files that `AutoTokenizer.from_pretrained` reads."""
    write_text(folder / TOKENIZER_FILE, tokenizer.to_str(pretty=True) + "\n")
    names = {"pad_token": 0, "unk_token": 1, "cls_token": 2, "sep_token": 3, "mask_token": 4}
    if settings.kind != "wordpiece":
        names |= {"bos_token": 5, "eos_token": 6}
    values = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "kind": settings.kind,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        **{name: WORD_SPECIAL_TOKENS[number] for name, number in names.items()},
    }
    write_text(folder / CONFIG_FILE, canonical_json(values))


def load_tokenizer(folder: Path, *, segmented: bool = False) -> Tokenizer:
    """Read a tokenizer back; words of a text that look like special tokens are words to it.

    With `segmented` the text will have spaces between its words already, so that jieba need not be loaded.
    """
    path = folder / TOKENIZER_FILE
    if not path.is_file():
        raise InputError(f"{path}: no such file; run the stage `tokenizer`")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    if read_kind(folder) == "jieba" and not segmented:
        tokenizer.pre_tokenizer = chinese_pre_tokenizer()
    return tokenizer


def load_words(folder: Path) -> tuple[int, list[str]]:
    """The words of a tokenizer, the most frequent first, and the id of the first: special tokens come before it."""
    vocabulary = load_tokenizer(folder, segmented=True).get_vocab(with_added_tokens=True)
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    first = sum(token in vocabulary for token in WORD_SPECIAL_TOKENS)
    if not set(tokens[:first]) <= set(WORD_SPECIAL_TOKENS):
        raise InputError(
            f"{folder / TOKENIZER_FILE}: a word comes before a special token; run the stage `tokenizer` again"
        )
    return first, tokens[first:]


def read_kind(folder: Path) -> str | None:
    """The kind of a saved tokenizer; none for one that another tool wrote."""
    path = folder / CONFIG_FILE
    kind: str | None = read_json(path).get("kind") if path.is_file() else None
    return kind


def _normalizer(settings: config.Tokenizer) -> normalizers.Normalizer:
    match settings.kind:
        case "wordpiece" | "word":
            strip_accents = settings.lowercase and settings.kind == "wordpiece"
            return normalizers.BertNormalizer(lowercase=settings.lowercase, strip_accents=strip_accents)
        case "jieba":
            return plain_normalizer(lowercase=settings.lowercase)
        case "spaces":
            names = "|".join(map(re.escape, (*WORD_SPECIAL_TOKENS, "<unk>")))
            unknown = normalizers.Replace(Regex(rf"(?<!\S)(?:{names})(?!\S)"), SPECIAL_TOKENS[UNKNOWN_ID])
            return normalizers.Sequence([normalizers.Lowercase(), unknown] if settings.lowercase else [unknown])


def _pre_tokenizer(settings: config.Tokenizer) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.WhitespaceSplit() if settings.kind == "spaces" else pre_tokenizers.BertPreTokenizer()


def _assemble(model: models.Model, settings: config.Tokenizer, special_tokens: Sequence[str]) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = _normalizer(settings)
    tokenizer.pre_tokenizer = _pre_tokenizer(settings)
    tokenizer.add_special_tokens(list(special_tokens))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", special_tokens.index("[CLS]")), ("[SEP]", special_tokens.index("[SEP]"))],
    )
    return tokenizer
