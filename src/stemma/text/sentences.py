"""Sentences of a text, by rules: no model, no language setting, the same on every machine.

A blank line always ends a sentence. So does the end of a line, unless the line is wrapped in mid-sentence. Inside a
paragraph a sentence ends after `.`, `!`, `?` or `…` before a space and what can begin a sentence, unless the stop belongs
to an abbreviation or an initial; after `。`, `！` or `？` always, with the closing quotes and brackets that follow.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

__all__ = ["split_paragraphs", "split_sentences"]

_MIN_WRAPPED: Final = 40  # a shorter line ends for another reason than the margin: a heading, verse, an address
_CJK: Final = re.compile("[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_CLOSING: Final = "\"'”’»)\\]}）」』】〉》"
_OPENING: Final = "\"'“‘«(\\[{（「『【〈《¿¡—–\\-"
_LINE_STOP: Final = re.compile(rf"[.!?…。！？][{_CLOSING}]*$")
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n\s*")
_STOP: Final = re.compile(  # one set of characters first: for that alone `re` has a fast search
    rf"[.!?…。！？](?:(?:(?<=[a-z]{{7}}\.)|(?<=[!?]))[{_CLOSING}]*\s+(?=[\"“‘(]?[A-Z])"  # surely: longer than abbreviations
    rf"|(?<=[.!?…])[.!?…]*[{_CLOSING}]*\s+(?![a-z,;:])(?=([{_OPENING}\s]*)(\S))|(?<=[。！？])[。！？…]*[{_CLOSING}]*\s*)"
)
_WORD_BEFORE: Final = re.compile(r"[\w.'’&-]+$")
_INITIALS: Final = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_WORD_AFTER: Final = re.compile(r"[^\W\d_]+")
_LONGEST_WORD: Final = 40


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never before the end of a sentence: a name or a number follows.
_TITLES: Final = _words(
    "adm brig capt cf cmdr col comdr cpl dr drs ed eds eg e.g fig figs fr gen gov hon i.e ie lt maj messrs mlle mme mr mrs"
    " ms mt mts no nos op p pp prof pt rep rev revd sen sgt st ste supt v viz vol vols vs"
)
# Before the end of a sentence only if a word that likes to begin one follows.
_OTHERS: Final = _words(
    "al approx apr assn aug ave bc blvd bros c ca cent ch co corp dec dept dist div est etc ext feb ft hr inc jan jr jul"
    " jun lat ltd mar max med min misc mon nov oct orig prob qty rd ref sec sep sept ser sq sr tel temp trans transl univ"
    " u.k u.s u.s.a a.m p.m a.d b.c ph.d m.d"
)
_STARTERS: Final = _words(
    "a after all although among an and another as at because before both but by during each even every few first for from"
    " had has have he her here his how however i if in instead is it its just later like many more most much my no not now"
    " of on once one only other others our over several she since so some soon such that the their then there these they"
    " this those though through thus to today two under until upon was we were what when where whereas whether which while"
    " who whose why with yet you your"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text in order, each on one line without outer spaces; together they hold all of its words."""
    return [sentence for paragraph in split_paragraphs(text) for sentence in _split_paragraph(paragraph)]


def split_paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a text: at blank lines, and at line ends that are no wrapped lines; wrapped ones are joined."""
    for block in _PARAGRAPH.split(text):
        lines: list[str] = []
        for line in block.splitlines():
            stripped = _single_spaced(line)
            if lines and not _is_wrapped(lines[-1]):
                yield _join(lines)
                lines = []
            if stripped:
                lines.append(stripped)
        if lines:
            yield _join(lines)


def _single_spaced(line: str) -> str:
    if "  " in line or not line.isprintable():  # of spaces, the plain one alone is printable
        return " ".join(line.split())
    return line.strip()


def _is_wrapped(line: str) -> bool:
    return len(line) >= _MIN_WRAPPED and _LINE_STOP.search(line) is None


def _join(lines: list[str]) -> str:
    """Wrapped lines as one; Chinese ones, which are wrapped between any two characters, without a space."""
    pieces = [lines[0]]
    for previous, line in pairwise(lines):
        if not (_CJK.match(previous[-1]) and _CJK.match(line[0])):
            pieces.append(" ")
        pieces.append(line)
    return "".join(pieces)


def _split_paragraph(paragraph: str) -> list[str]:
    sentences, begin = [], 0
    for match in _STOP.finditer(paragraph):
        if match.lastindex is None or _ends_sentence(paragraph, begin, match):
            end = match.end()
            sentences.append(paragraph[begin:end].rstrip())
            begin = end
    if begin < len(paragraph):
        sentences.append(paragraph[begin:])
    return sentences


def _ends_sentence(paragraph: str, begin: int, match: re.Match[str]) -> bool:
    """Whether a stop before a space ends the sentence that starts at `begin`."""
    following = match[2]
    if following.islower() or following in ",;:)]}%&=+*/":
        return False
    stop = match.start()
    if paragraph[stop] != "." or paragraph.startswith("..", stop):
        return True
    word = paragraph[max(begin, stop - _LONGEST_WORD) : stop].rpartition(" ")[2]
    if not word.isalpha():  # nearly always it is, and then it is a word as it stands
        word = _word_before(word)
    before = word.lower().lstrip("'’-")
    if before in _TITLES:
        return False
    if before in _OTHERS or _INITIALS.fullmatch(word):
        return _likes_to_begin(paragraph, match.start(2))
    return True


def _word_before(text: str) -> str:
    """What `text` ends in, without an opening bracket and the like; nothing if that is no word."""
    match = _WORD_BEFORE.search(text)
    return match[0] if match else ""


def _likes_to_begin(paragraph: str, position: int) -> bool:
    word = _WORD_AFTER.match(paragraph, position)
    return word is not None and word[0].lower() in _STARTERS
