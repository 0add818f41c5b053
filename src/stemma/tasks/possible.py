"""Which family can do which kind of task or probe, and why the others can't: nothing is left out in silence."""

from stemma.families import load_family, why_no_head

__all__ = ["impossible"]


def impossible(family: str, kind: str) -> str | None:
    """Why a family can't be asked a kind of task or probe; none if it can."""
    can = load_family(family)
    if kind in ("similarity", "analogy"):
        return None if can.load_vectors is not None else "it has no vectors of words by themselves"
    if kind == "minimal-pairs":
        return None if can.load_scorer is not None else "it gives no sentence a probability"
    return "it has no encoder to fine-tune" if can.load_encoder is None else why_no_head(family, kind)
