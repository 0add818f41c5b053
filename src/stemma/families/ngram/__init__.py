"""N-gram language models, by five ways of smoothing."""

ENCODER = True
IMPOSSIBLE = {
    "span": "it says how likely a text is, not where in a text an answer stands",
    "tagging": "it says how likely a text is, and has nothing to say of each word's label",
    "regression": "it counts the texts of classes, and a number is none",
}
