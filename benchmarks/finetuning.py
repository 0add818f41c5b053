"""Fine-tuning and answering, examples per second: ours against the Hugging Face Trainer and `transformers.pipeline`.

The data have the shape of SST-2 (single sentences, mostly short) and of MRPC (pairs of sentences): real sentences, labelled
by a rule that a small network learns. Same network, batch size, epochs, optimizer and threads. Rates are taken on few rows; a
longer run of each side, by itself, says whether both come to the same score.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import torch

from benchmarks.clock import Clock
from benchmarks.corpora import fast_tokenizer, sample_sentences, tokenized_sample
from benchmarks.harness import Comparison, compare, write_result
from benchmarks.pretraining import SETTINGS
from stemma.config import Finetuning, Task, load_params
from stemma.families.bert.family import BertSettings
from stemma.families.bert.network import build_network, load_encoder, read_tokenizer, save_network
from stemma.progress import NullProgress
from stemma.tasks.predictor import Predictor
from stemma.tasks.tuning import Tuner
from stemma.training.tracker import NullTracker

ROOT = Path(__file__).resolve().parent.parent
THREADS = 2
LABELS = ["absent", "present"]
TUNING: dict[str, Any] = {
    "seeds": [1],
    "epochs": 1,
    "batch_size": 32,
    "learning_rate": 1e-3,
    "grid": None,
    "weight_decay": 0.01,
    "warmup_share": 0.1,
    "max_gradient_norm": 1.0,
    "threads": THREADS,
}


def make_rows(project: Path, num_rows: int, *, pairs: bool, seed: int) -> pa.Table:
    """Rows whose label says whether the (first) sentence has the word "the": half of them have."""
    rng = np.random.default_rng(seed)
    sentences = sample_sentences(project)
    words = [set(sentence.lower().split()) for sentence in sentences]
    lengths = np.array([len(sentence.split()) for sentence in sentences])
    fits = (lengths >= (12 if pairs else 3)) & (lengths <= (32 if pairs else 40))
    has = np.array(["the" in own for own in words])
    chosen = np.concatenate(
        [rng.choice(np.flatnonzero(fits & (has == label)), num_rows // 2) for label in (False, True)]
    )
    rng.shuffle(chosen)
    columns = {
        "id": [str(number) for number in range(len(chosen))],
        "text": [sentences[one] for one in chosen],
        "label": [LABELS[int(has[one])] for one in chosen],
    }
    if pairs:
        columns["text_pair"] = [sentences[one] for one in rng.choice(np.flatnonzero(fits), len(chosen))]
    return pa.table(columns)


def make_task() -> Task:
    """A classification task of the default settings, with this benchmark's labels and length."""
    task = next(task for task in load_params(ROOT / "params.yaml").tasks.values() if task.kind == "classification")
    return task.model_copy(update={"labels": LABELS, "metric": "accuracy", "max_length": 128})


class Side:
    """One network, tuned on rows, then asked about others; `score` and `their_score` are the last answers' accuracies."""

    def __init__(self, project: Path, *, pairs: bool, num_rows: int = 480) -> None:
        sizes = ((num_rows, 1), (800, 2))
        self.train, self.test = (make_rows(project, size, pairs=pairs, seed=seed) for size, seed in sizes)
        self.folder = Path(tempfile.mkdtemp())
        settings = BertSettings(**SETTINGS)
        network = build_network(settings, read_tokenizer(project / "tokenizer"), seed=1)
        save_network(network, project / "tokenizer", self.folder)
        self.score = 0.0
        self.model: Any = None

    def ours(self) -> float:
        """Tune with our loop."""
        encoder = load_encoder(self.folder)
        settings = Finetuning(**TUNING)
        begun = time.perf_counter()
        tuner = Tuner(encoder, "bench", make_task(), settings, train=self.train, validation=self.test.slice(0, 2))
        scratch = Path(tempfile.mkdtemp())
        tuned = tuner.tune(1, scratch=scratch, tracker=NullTracker(), progress=NullProgress())
        elapsed = time.perf_counter() - begun
        self.model = tuned.model
        return len(self.train) / elapsed

    def our_answers(self) -> float:
        """Answer the test rows."""
        tokenizer = read_tokenizer(self.folder)
        predictor = Predictor(
            task_name="bench", task=make_task(), model=self.model, tokenizer=tokenizer, threads=THREADS
        )
        begun = time.perf_counter()
        answers = predictor.predict(self.test)
        elapsed = time.perf_counter() - begun
        self.score = float(np.mean([a == b for a, b in zip(answers["label"].to_pylist(), self.labels, strict=True)]))
        return len(self.test) / elapsed

    @property
    def labels(self) -> list[str]:
        """What the test rows' answers should be."""
        return list(self.test["label"].to_pylist())

    def theirs(self, *, to_maximum: bool) -> Callable[[], float]:
        """Tune with a Trainer; tokenization is timed on both sides, the Trainer's set-up is not."""
        import datasets
        import transformers

        def run() -> float:
            torch.use_deterministic_algorithms(False)
            torch.set_num_threads(THREADS)
            tokenizer = fast_tokenizer(self.folder)
            network = transformers.BertForSequenceClassification.from_pretrained(self.folder, num_labels=2)
            texts = [self.train["text"].to_pylist()]
            if "text_pair" in self.train.column_names:
                texts.append(self.train["text_pair"].to_pylist())
            padding = "max_length" if to_maximum else False
            begun = time.perf_counter()
            encoded = tokenizer(*texts, truncation=True, max_length=128, padding=padding)
            data = datasets.Dataset.from_dict(
                {**encoded, "labels": [LABELS.index(label) for label in self.train["label"].to_pylist()]}
            )
            tokenized = time.perf_counter() - begun
            clock = Clock()
            with tempfile.TemporaryDirectory() as out:
                arguments = transformers.TrainingArguments(
                    out,
                    per_device_train_batch_size=TUNING["batch_size"],
                    num_train_epochs=TUNING["epochs"],
                    learning_rate=TUNING["learning_rate"],
                    weight_decay=TUNING["weight_decay"],
                    warmup_steps=0.1,
                    save_strategy="no",
                    report_to=[],
                    use_cpu=True,
                    disable_tqdm=True,
                    logging_strategy="no",
                    seed=1,
                )
                trainer = transformers.Trainer(
                    model=network,
                    args=arguments,
                    train_dataset=data,
                    data_collator=transformers.DataCollatorWithPadding(tokenizer),
                    callbacks=[clock.callback()],
                )
                trainer.train()
            self.their_model = network
            return len(self.train) / (clock.seconds + tokenized)

        return run

    def their_answers(self) -> float:
        """Answer with a pipeline, in batches, given the texts as it asks for them."""
        import transformers

        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(THREADS)
        pipe = transformers.pipeline(
            "text-classification", model=self.their_model, tokenizer=fast_tokenizer(self.folder)
        )
        texts: list[Any] = self.test["text"].to_pylist()
        if "text_pair" in self.test.column_names:
            texts = [
                {"text": text, "text_pair": pair}
                for text, pair in zip(texts, self.test["text_pair"].to_pylist(), strict=True)
            ]
        begun = time.perf_counter()
        answers = pipe(texts, batch_size=32, truncation=True, max_length=128)
        elapsed = time.perf_counter() - begun
        named = [LABELS[int(answer["label"].rpartition("_")[2])] for answer in answers]
        self.their_score = float(np.mean([a == b for a, b in zip(named, self.labels, strict=True)]))
        return len(texts) / elapsed


def bench(project: Path, shape: str) -> list[Comparison]:
    """The rows of one shape of data."""
    side = Side(project, pairs=shape == "MRPC")
    found = []
    for to_maximum, floor, aim in ((True, 2.0, 2.5), (False, 1.2, 1.4)):
        padding = "padding to the maximum length" if to_maximum else "dynamic padding"
        result = compare(
            f"finetuning-{shape.lower()}-{'maximum' if to_maximum else 'dynamic'}",
            side.ours,
            side.theirs(to_maximum=to_maximum),
            work=f"fine-tuning, {shape}-shaped",
            against=f"Trainer, {padding}",
            unit="examples/s",
            floor=floor,
            aim=aim,
        )
        found.append(result)
    answers = compare(
        f"inference-{shape.lower()}",
        side.our_answers,
        side.their_answers,
        work=f"answering, {shape}-shaped",
        against="transformers.pipeline, batches of 32",
        unit="examples/s",
        floor=2.5,
        aim=3.0,
    )
    return [*found, answers]


def scores(project: Path, shape: str) -> dict[str, object]:
    """Both sides' accuracies after three epochs on more rows."""
    side = Side(project, pairs=shape == "MRPC", num_rows=1920)
    with mock.patch.dict(TUNING, {"epochs": 3}):
        side.ours()
        side.theirs(to_maximum=False)()
    side.our_answers()
    side.their_answers()
    print(f"  scores, {shape}: {side.score:.3f} against {side.their_score:.3f}", flush=True)
    return {"shape": shape, "accuracy": {"ours": side.score, "theirs": side.their_score}, "rows": 1920, "epochs": 3}


def main(folder: Path) -> None:
    """Measure and keep."""
    project = tokenized_sample(folder, 8000)
    for shape in ("SST-2", "MRPC"):
        for result in bench(project, shape):
            write_result(result.name, result)
        write_result(f"scores-{shape.lower()}", scores(project, shape))


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
