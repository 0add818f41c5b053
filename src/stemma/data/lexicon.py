"""The words of the generated stories: eight topics with their own nouns, deeds and places, common words, invented names.

Names are made of syllables, in a fixed order. Some of them are also plain words of a topic (Rose, Stone, Reed), so that
only their company tells which they are.
"""

from dataclasses import dataclass
from typing import Final

__all__ = ["COMMON", "FIRMS", "PEOPLE", "TOPICS", "TOWNS", "Common", "Topic", "plural"]


@dataclass(frozen=True, slots=True)
class Topic:
    """What a story is about."""

    nouns: tuple[str, ...]
    actions: tuple[str, ...]  # done to a thing
    motions: tuple[str, ...]  # done by a thing, at a place
    adjectives: tuple[str, ...]
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Common:
    """Words that every story may use."""

    prepositions: tuple[str, ...]
    numbers: tuple[str, ...]
    times: tuple[str, ...]
    days: tuple[str, ...]
    lived: tuple[str, ...]
    said: tuple[str, ...]
    asked: tuple[str, ...]
    carried: tuple[str, ...]
    traded: tuple[str, ...]
    states: tuple[str, ...]
    comparatives: tuple[str, ...]


def plural(noun: str) -> str:
    """Several of a thing."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def _topic(nouns: str, actions: str, motions: str, adjectives: str, places: str) -> Topic:
    return Topic(*(tuple(words.split()) for words in (nouns, actions, motions, adjectives, places)))


COMMON: Final = Common(
    prepositions=("near", "behind", "beside", "under", "above", "before"),
    numbers=("one", "two", "three", "four", "seven", "nine", "twelve", "twenty"),
    times=("when", "while", "after", "before", "until", "as"),
    days=("morning", "evening", "winter", "summer", "monday", "night"),
    lived=("lived", "worked", "stayed", "slept", "grew up"),
    said=("told", "reminded", "promised", "warned", "assured"),
    asked=("asked", "begged", "paid", "thanked"),
    carried=("carried", "took", "brought", "dragged"),
    traded=("sold", "gave", "lent", "showed"),
    states=("lost", "broken", "ready", "gone", "late", "missing"),
    comparatives=("older", "larger", "smaller", "better", "worse", "cheaper", "heavier"),
)

TOPICS: Final[dict[str, Topic]] = {
    "farm": _topic(
        "cow horse plough field goat hen sheep barrel fence seed cart calf pig crop lamb apple reed stone bull harrow",
        "fed milked sowed ploughed mowed sheared tended watered weeded raised",
        "grazed rested wandered sprouted ripened rotted",
        "brown muddy ripe fat tame dry green woolly early hungry",
        "barn meadow orchard well stable haystack gate pasture",
    ),
    "sea": _topic(
        "boat net sail anchor oar fish whale gull ship rope mast harpoon crab shell raft lantern compass wave pearl buoy",
        "sailed moored caught rowed steered salvaged launched repaired netted towed",
        "drifted sank floated rolled capsized surfaced",
        "salty blue wet rusty deep stormy silver calm wooden empty",
        "harbour pier reef island lighthouse beach cove dock",
    ),
    "school": _topic(
        "book lesson pupil teacher pencil desk essay map slate exam chalk poem class page library clock ruler prize term ink",
        "read copied learned taught marked recited studied spelled wrote forgot",
        "began ended waited whispered dragged improved",
        "clever dull long difficult easy quiet lazy proud new strict",
        "classroom yard hall corridor blackboard stairway office museum",
    ),
    "music": _topic(
        "song violin drum flute choir note piano concert tune harp band singer bell waltz trumpet opera string march chord dance",
        "played sang tuned rehearsed composed hummed conducted practised performed recorded",
        "echoed sounded faded swelled trembled paused",
        "loud soft sweet slow merry solemn famous modern shrill gentle",
        "stage theatre balcony chapel bandstand cellar ballroom gallery",
    ),
    "market": _topic(
        "coin basket cloth spice loaf purse stall cheese lamp rug scale barrel bargain pot candle price ribbon merchant jar rose",
        "bought weighed priced wrapped bargained counted traded ordered stored polished",
        "spilled glittered toppled vanished dried cooled",
        "cheap costly fresh golden stale heavy rare common bright small",
        "square counter shop warehouse arcade bridge tavern bakery",
    ),
    "mountain": _topic(
        "peak rope glacier goat eagle boulder cave guide tent hut axe cliff avalanche path torch ridge pine storm bear ledge",
        "climbed crossed mapped explored reached measured saw feared named conquered",
        "slid cracked towered crumbled shifted froze",
        "steep snowy icy high narrow rocky frozen lonely white dangerous",
        "summit valley pass slope camp ravine forest shelter",
    ),
    "railway": _topic(
        "train engine wagon ticket rail whistle guard signal bolt boiler passenger timetable coal carriage trunk wheel lever"
        " track lamp brake",
        "drove stopped fired coupled oiled inspected boarded loaded missed mended",
        "rattled departed arrived stalled steamed derailed",
        "fast late noisy iron black crowded smoky express rear local",
        "station platform tunnel junction depot siding viaduct crossing",
    ),
    "garden": _topic(
        "rose tulip hedge spade bee path rake lily tree fountain bench beetle vine moss bulb thorn petal bird nest pot",
        "planted trimmed pruned picked raked dug admired painted uprooted smelled",
        "bloomed withered grew spread hummed leaned",
        "red wild tall fragrant shady yellow pale tiny sunny thorny",
        "pond lawn greenhouse terrace arbour shed wall border",
    ),
}

_ONSETS: Final = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "br", "dr", "st")
_VOWELS: Final = ("a", "e", "i", "o", "u")
_CODAS: Final = ("n", "l", "r", "s", "m", "t", "")


def _names(endings: tuple[str, ...], number: int, step: int) -> tuple[str, ...]:
    """The first `number` different names of one syllable and an ending, walking the syllables in steps."""
    syllables = [onset + vowel + coda for onset in _ONSETS for vowel in _VOWELS for coda in _CODAS]
    made: dict[str, None] = {}
    at = 0
    while len(made) < number:
        made[(syllables[at * step % len(syllables)] + endings[at % len(endings)]).capitalize()] = None
        at += 1
    return tuple(made)


PEOPLE: Final = (
    *_names(("a", "o", "ina", "ek", "ila", "ard"), 154, 37),
    "Rose",
    "Stone",
    "Lily",
    "Reed",
    "Pearl",
    "Bell",
)
TOWNS: Final = _names(("burg", "ford", "ville", "mouth", "stead"), 80, 41)
FIRMS: Final = tuple(
    f"{name} {kind}" for name in _names(("son", "man", "ley"), 20, 43) for kind in ("Brothers", "Works")
)
