"""BERT's settings."""

from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from stemma.config import Settings, Share
from stemma.training.precision import Precision

__all__ = ["BertSettings"]


class BertSettings(Settings):
    """The size of the network, the objective and the budget."""

    layers: PositiveInt
    hidden_size: PositiveInt
    heads: PositiveInt
    intermediate_size: PositiveInt
    dropout: float = Field(ge=0, lt=1)
    max_length: int = Field(ge=8)  # tokens, with the three special ones
    steps: NonNegativeInt  # 0: no pretraining, the network as it was drawn
    batch_size: PositiveInt  # pairs
    tokens_per_pass: (
        PositiveInt  # how much of a batch goes through the network at once: bounds memory, and keeps to the cache
    )
    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(ge=0)
    warmup_share: Share
    max_gradient_norm: float = Field(gt=0)
    mask_probability: float = Field(gt=0, lt=1)
    mask_token_share: Share
    random_token_share: Share
    masking: Literal["dynamic", "static"]  # drawn anew each epoch, or once
    whole_word: bool
    next_sentence: bool  # false: an input is one segment, and only words are predicted
    direction: Literal["both", "left-to-right"]  # left-to-right: each token sees those before it, and predicts the next
    bilstm: bool  # whether tasks put a new BiLSTM between the encoder and their head
    features: Literal["last", "sum-last-four", "concat-last-four"]  # the layers that it reads, and how
    tune: Literal["whole", "frozen"]  # frozen: tasks leave the encoder as pretraining left it
    task_learning_rate: float = Field(gt=0)  # of tasks on a frozen encoder: what they train is new
    checkpoint_every: PositiveInt  # steps
    precision: Precision  # of products; bfloat16 only where the processor has it
    threads: PositiveInt  # of each process
    processes: PositiveInt  # that share the passes of each batch

    @model_validator(mode="after")
    def _shares_and_sizes_fit(self) -> "BertSettings":
        if self.hidden_size % self.heads:
            raise ValueError(f"hidden_size {self.hidden_size} is not a multiple of heads {self.heads}")
        if self.mask_token_share + self.random_token_share > 1.0:
            raise ValueError("mask_token_share and random_token_share together are more than 1")
        if self.direction == "left-to-right" and self.next_sentence:
            raise ValueError("direction left-to-right predicts the next word alone: set next_sentence to false")
        if self.bilstm and self.hidden_size % 2:
            raise ValueError(
                f"bilstm: each of its two directions has half of hidden_size, and {self.hidden_size} is odd"
            )
        if self.features != "last" and not self.bilstm:
            raise ValueError(f"features: {self.features} is what a BiLSTM reads: set bilstm to true")
        if self.features != "last" and self.layers < 4:
            raise ValueError(f"features: {self.features} needs four layers, and there are {self.layers}")
        return self
