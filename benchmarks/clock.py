"""How long a Hugging Face Trainer trains, without its set-up."""

import time
from typing import Any

__all__ = ["Clock"]


class Clock:
    """Times a Trainer from its first step's begin to its last one's end."""

    begun = 0.0
    ended = 0.0

    @property
    def seconds(self) -> float:
        """What it measured."""
        return self.ended - self.begun

    def callback(self) -> Any:
        """To hand to a Trainer."""
        import transformers

        clock = self

        class Callback(transformers.TrainerCallback):
            def on_step_begin(self, *_: Any, **__: Any) -> None:
                clock.begun = clock.begun or time.perf_counter()

            def on_step_end(self, *_: Any, **__: Any) -> None:
                clock.ended = time.perf_counter()

        return Callback()
