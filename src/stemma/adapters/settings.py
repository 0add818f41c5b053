"""Profiles: the same keys as `params.yaml` at other scales, and how one takes its place."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from stemma.config import load_params
from stemma.errors import SettingsError
from stemma.files import write_text

__all__ = ["PARAMS", "PROFILES", "Profile", "list_profiles", "refuse_to_lose_edits", "use_profile"]

PARAMS = Path("params.yaml")
PROFILES = Path("profiles")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A file in `profiles/`."""

    name: str
    text: str
    in_use: bool  # whether params.yaml is exactly this

    @property
    def summary(self) -> str:
        """What its first line says of it."""
        first = self.text.partition("\n")[0]
        return first.removeprefix("#").strip().removeprefix(f"{self.name}:").strip()


def list_profiles(root: Path) -> list[Profile]:
    """Every profile, by name."""
    params = root / PARAMS
    now = params.read_text(encoding="utf-8") if params.exists() else ""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted((root / PROFILES).glob("*.yaml"))}
    return [Profile(name=name, text=text, in_use=text == now) for name, text in texts.items()]


def use_profile(root: Path, name: str) -> bool:
    """Write a profile into `params.yaml`, whole or not at all; False when it is there already.

    Edits that neither git nor a profile has would be lost, so they are a reason to refuse.
    """
    profiles = {profile.name: profile for profile in list_profiles(root)}
    if name not in profiles:
        raise SettingsError(f"{PROFILES}: no profile {name!r}; there are {', '.join(profiles) or 'none'}")
    if profiles[name].in_use:
        return False
    load_params(root / PROFILES / f"{name}.yaml")  # one that can't be read must not take the place of one that can
    refuse_to_lose_edits(root)
    write_text(root / PARAMS, profiles[name].text)
    return True


def refuse_to_lose_edits(root: Path) -> None:
    """Stop where `params.yaml` has edits that neither git nor a profile has."""
    if not any(profile.in_use for profile in list_profiles(root)) and _has_edits(root):
        raise SettingsError(
            f"{PARAMS}: has edits that are not committed; commit them (git commit {PARAMS}), keep them"
            f" (cp {PARAMS} {PROFILES}/mine.yaml) or drop them (git checkout {PARAMS}), then try again"
        )


def _has_edits(root: Path) -> bool:
    """Whether `params.yaml` differs from what git keeps; where git can't tell, it is taken to."""
    if not (root / PARAMS).exists():
        return False
    command = ["git", "--no-optional-locks", "status", "--porcelain", "--ignored", "--", str(PARAMS)]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return result.returncode != 0 or bool(result.stdout.strip())
