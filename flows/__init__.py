"""Prefect flows: when stages run, side by side with what, and what follows.

Prefect reads its settings when it is imported, so the project's own are put into the environment here, before that can be.
"""

from pathlib import Path

from flows.environment import prepare_environment

prepare_environment(Path.cwd())
