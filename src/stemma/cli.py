"""The command line: one subcommand a stage of `dvc.yaml`, and the verbs that a user needs.

The composition root: the only place that puts adapters and stages together. Heavy imports wait until a command runs.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stemma.errors import StemmaError
from stemma.progress import Progress, open_progress

if TYPE_CHECKING:
    from stemma.adapters.words import Words
    from stemma.config import Params

__all__ = ["app", "run"]

PARAMS = Path("params.yaml")

app = typer.Typer(
    name="stemma",
    help="From a corpus to a promoted language model, reproducibly.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)
settings_app = typer.Typer(help="Show the profiles, or write one into params.yaml.", no_args_is_help=True)
app.add_typer(settings_app, name="settings")
submission_app = typer.Typer(help="Write or check a file for the GLUE server or SQuAD's scripts.", no_args_is_help=True)
app.add_typer(submission_app, name="submission")

STAGES = "Stages, as dvc.yaml runs them"
In = Annotated[Path, typer.Option()]
Out = Annotated[Path, typer.Option()]
Name = Annotated[str, typer.Argument()]
Vectors = Annotated[Path | None, typer.Option("--model", help="a pretrained model's folder, or a file of word2vec's")]


def run() -> None:
    """Run the command line; an error that a user can mend is one line on stderr and exit code 2."""
    try:
        app()
    except StemmaError as error:
        print(f"stemma: {error}", file=sys.stderr)
        sys.exit(2)


@app.command(rich_help_panel=STAGES)
def ingest(*, external: In, out: Out) -> None:
    """Read every corpus's sources into parquet documents."""
    from stemma.stages import ingest as stage

    with _stage("ingest") as (params, progress):
        stage.run(params, progress, external=external, out=out)


@app.command(rich_help_panel=STAGES)
def prepare(*, corpora: In, external: In, out: Out, probes: Out) -> None:
    """Make every task's splits, from the offline suite, original files or the Hub, and every probe's questions."""
    from stemma.stages import prepare as stage

    with _stage("prepare") as (params, progress):
        stage.run(params, progress, corpora=corpora, external=external, out=out, probes=probes)


@app.command(rich_help_panel=STAGES)
def validate(*, corpora: In, tasks: In, out: Out, quarantine: Out, report: Out) -> None:
    """Check every row; put those that fail into quarantine, with the reason."""
    from stemma.stages import validate as stage

    with _stage("validate") as (params, progress):
        stage.run(params, progress, corpora=corpora, tasks=tasks, out=out, quarantine=quarantine, report=report)


@app.command(rich_help_panel=STAGES)
def clean(*, corpora: In, out: Out) -> None:
    """Normalise, remove duplicates, split into sentences and into train, validation and test."""
    from stemma.stages import clean as stage

    with _stage("clean") as (params, progress):
        stage.run(params, progress, corpora=corpora, out=out)


@app.command(rich_help_panel=STAGES)
def tokenizer(name: Name, *, corpus: In, out: Out) -> None:
    """Learn a vocabulary on a corpus's training split."""
    from stemma.stages import tokenizer as stage

    with _stage(f"tokenizer@{name}") as (params, progress):
        stage.run(name, params, progress, corpus=corpus, out=out)


@app.command(rich_help_panel=STAGES)
def tokenize(name: Name, *, corpus: In, tokenizer: In, out: Out) -> None:
    """Turn a corpus into a memory-mapped token store."""
    from stemma.stages import tokenize as stage

    with _stage(f"tokenize@{name}") as (_, progress):
        stage.run(progress, corpus=corpus, tokenizer=tokenizer, out=out)


@app.command(rich_help_panel=STAGES)
def pretrain(name: Name, *, tokens: In, tokenizer: In, out: Out) -> None:
    """Train a variant on its token store."""
    from stemma.adapters.mlflow import open_tracker
    from stemma.stages import pretrain as stage

    with (
        _stage(f"pretrain@{name}") as (params, progress),
        open_tracker(f"pretrain@{name}", inputs=[tokens, tokenizer], out=out) as tracker,
    ):
        stage.run(name, params, tracker, progress, tokens=tokens, tokenizer=tokenizer, out=out)


@app.command(rich_help_panel=STAGES)
def transfer(name: Name, *, pretrained: In, tuned: In, out: Out) -> None:
    """Take the heads off a pair's tuned models, for other pairs to start from."""
    from stemma.stages import transfer as stage

    with _stage(f"transfer@{name}") as (params, progress):
        stage.run(name, params, progress, pretrained=pretrained, tuned=tuned, out=out)


@app.command(rich_help_panel=STAGES)
def finetune(name: Name, *, pretrained: In, task: In, out: Out) -> None:
    """Fine-tune a variant on a task, once a seed."""
    from stemma.adapters.mlflow import open_tracker
    from stemma.stages import finetune as stage

    with (
        _stage(f"finetune@{name}") as (params, progress),
        open_tracker(f"finetune@{name}", inputs=[pretrained, task], out=out) as tracker,
    ):
        stage.run(name, params, tracker, progress, pretrained=pretrained, task=task, out=out)


@app.command(rich_help_panel=STAGES)
def evaluate(
    *,
    corpora: In,
    tasks: In,
    probes: In,
    pretrained: In,
    finetuned: In,
    out: Out,
    predictions: Out,
    leaderboard: Out,
) -> None:
    """Score every variant on its test data, with intervals and baselines, and make the leaderboard."""
    from stemma.stages import evaluate as stage

    with _stage("evaluate") as (params, progress):
        stage.run(
            params,
            progress,
            corpora=corpora,
            tasks=tasks,
            probes=probes,
            pretrained=pretrained,
            finetuned=finetuned,
            out=out,
            predictions=predictions,
            leaderboard=leaderboard,
        )


@app.command()
def plan() -> None:
    """Say what would run, why, roughly how long and how much disk, before anything runs. Example: stemma plan."""
    from stemma.adapters.plan import changed_environment, describe, make_plan, num_cores

    for line in describe(make_plan(Path()), num_cores(), changed_environment(Path())):
        print(line)


@settings_app.command("list")
def list_settings() -> None:
    """Show the profiles; a star marks the one that params.yaml is. Example: stemma settings list."""
    from stemma.adapters.settings import list_profiles

    for profile in list_profiles(Path()):
        print(f"{'*' if profile.in_use else ' '} {profile.name:<10} {profile.summary}")


@settings_app.command("use")
def use_settings(profile: Annotated[str, typer.Argument(help="a name that `stemma settings list` shows")]) -> None:
    """Write a profile into params.yaml, unless that would lose edits. Example: stemma settings use smoke."""
    from stemma.adapters.settings import use_profile

    changed = use_profile(Path(), profile)
    print(
        f"params.yaml is now the profile {profile}; see `stemma plan`"
        if changed
        else f"params.yaml is {profile} already"
    )


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="a fine-tuned model's folder, or models:/NAME@champion")],
    file: Annotated[Path, typer.Argument(help="JSON lines; - is standard input")],
    output: Annotated[Path, typer.Option(help="JSON lines; - is standard output")] = Path("-"),
) -> None:
    """Answer a file of questions. Example: stemma predict models:/bert-out-of-order@champion questions.jsonl."""
    from stemma.adapters.predict import predict_file

    standard = Path("-")
    predict_file(model, None if file == standard else file, None if output == standard else output)


@submission_app.command("write")
def write_submission(
    name: Annotated[str, typer.Argument(help="CoLA, SST-2, …, MNLI-m, MNLI-mm, AX, squad-1.1 or squad-2.0")],
    model: Annotated[str, typer.Argument(help="a fine-tuned model's folder, or models:/NAME@champion")],
    file: Annotated[Path, typer.Argument(help="the task's unlabelled test file")],
    out: Annotated[Path, typer.Option(help="the folder for it")] = Path("submission"),
) -> None:
    """Answer a test file. Example: stemma submission write CoLA models/finetuned/bert-cola/seed-1 CoLA/test.tsv."""
    from stemma.adapters.submission import make_submission

    print(f"Wrote {make_submission(name, model, file, out)}")


@submission_app.command("check")
def check_submission(
    files: Annotated[list[Path], typer.Argument(help="such as CoLA.tsv, or a JSON of SQuAD's")],
    questions: Annotated[Path | None, typer.Option(help="the SQuAD file that the JSON answers")] = None,
) -> None:
    """Say whether files would be accepted. Example: stemma submission check submission/CoLA.tsv."""
    from stemma.adapters.submission import check_submission as check

    for file in files:
        print(f"{file}: {check(file, questions):,} predictions, all as they should be")


@app.command()
def rollback(
    model: Annotated[str, typer.Argument(help="a registered model's name, such as bert-out-of-order")],
) -> None:
    """Let the champion before the present one be champion again. Example: stemma rollback bert-out-of-order."""
    from stemma.adapters.registry import Registry
    from stemma.adapters.release import roll_back
    from stemma.fence import hold
    from stemma.release.ledger import LEDGER, Ledger

    with hold("release"):
        present, earlier = roll_back(model, Registry(), Ledger(LEDGER))
    print(f"{model}: champion is version {earlier.number} again, instead of version {present.number}")


@app.command()
def ledger(model: Annotated[str, typer.Argument(help="a registered model's name; all when left out")] = "") -> None:
    """Show every decision on models, once the ledger's chain of hashes is found whole. Example: stemma ledger."""
    from stemma.release.ledger import LEDGER, Ledger, describe

    for entry in Ledger(LEDGER).entries():
        if model in ("", entry.model):
            print(describe(entry))


@app.command()
def results(
    metrics: Annotated[Path, typer.Option(help="what `evaluate` wrote")] = Path("reports/evaluation/metrics.json"),
    seconds: Annotated[bool, typer.Option("--seconds", help="ask MLflow how long each pretraining took")] = False,
) -> None:
    """Show the scores of the last evaluation. Example: stemma results."""
    from rich.console import Console

    from stemma.tasks.report import console_tables

    for table in console_tables(metrics, _seconds() if seconds else None):
        Console().print(table)


@app.command()
def tasks() -> None:
    """List every known task with its metric, rows, licence and where to get it. Example: stemma tasks."""
    from rich.console import Console

    from stemma.tasks.listing import console_list

    console = Console()
    console.print(console_list(console.width))


@app.command()
def leaderboard(
    table: Annotated[Path, typer.Option(help="what `evaluate` wrote")] = Path("reports/leaderboard.json"),
    compare: Annotated[
        tuple[str, str] | None, typer.Option(help="two rows, on every task and probe that has both")
    ] = None,
    task: Annotated[str | None, typer.Option(help="with --compare: on this task or probe alone")] = None,
    seconds: Annotated[bool, typer.Option("--seconds/--no-seconds", help="ask MLflow how long trainings took")] = True,
) -> None:
    """Show every variant on every task, or compare two rows. Example: stemma leaderboard --compare bert gpt."""
    from rich.console import Console

    from stemma.adapters.board import describe_lock, made_by, open_runs, read_table
    from stemma.config import load_params
    from stemma.errors import InputError
    from stemma.leaderboard.compare import compare_rows
    from stemma.leaderboard.console import comparison_table, console_tables

    if task is not None and compare is None:
        raise InputError("--task: goes with --compare A B; the table shows all tasks")
    console, board = Console(), read_table(table)
    if compare is not None:
        console.print(comparison_table(compare_rows(board, *compare, task)))
        return
    made = made_by(load_params(PARAMS), Path(), open_runs() if seconds else None)
    for part in console_tables(board, made, console.width):
        console.print(part)
    for line in describe_lock(table, Path()):
        print(line)
    print(f"As a page: {table.with_suffix('.html')}")


@app.command()
def docs(
    report: Annotated[Path, typer.Option(help="what `validate` wrote")] = Path("reports/validation.json"),
    out: Annotated[Path, typer.Option(help="the folder for the pages")] = Path(".stemma/data-docs"),
) -> None:
    """Build Great Expectations' pages on the data. Example: stemma docs."""
    from stemma.adapters.data_docs import build_data_docs

    print(f"Open {build_data_docs(report, out)} in a browser")


@app.command()
def verify() -> None:
    """Re-hash every object of DVC's cache and name those that are damaged. Example: stemma verify."""
    from stemma.adapters.dvc import broken_objects
    from stemma.errors import CorruptionError

    broken = broken_objects(Path())
    if broken:
        raise CorruptionError(
            f"DVC's cache: {', '.join(broken)} damaged; remove them, then run `dvc repro` or `dvc pull`"
        )
    print("Every object of DVC's cache has the bytes that its name says")


@app.command()
def hotspots(
    variant: Annotated[str, typer.Argument(help="one of params.yaml's variants")],
    tokens: Annotated[Path, typer.Option(help="what `tokenize` wrote")] = Path("data/tokens"),
    tokenizers: Annotated[Path, typer.Option(help="what `tokenizer` wrote")] = Path("models/tokenizers"),
) -> None:
    """Profile one training step and name its top costs. Example: stemma hotspots bert."""
    from stemma.adapters.hotspots import describe_hotspots

    for line in describe_hotspots(variant, PARAMS, tokens=tokens, tokenizers=tokenizers):
        print(line)


@app.command()
def calibrate(
    variant: Annotated[str, typer.Argument(help="one of params.yaml's variants")],
    minutes: Annotated[float, typer.Option(min=0.01, help="of CPU time, for the whole pretraining")],
    seconds: Annotated[float, typer.Option(min=0.1, help="of CPU time, for the measurement")] = 10.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="leave params.yaml as it is")] = False,
    tokens: Annotated[Path, typer.Option(help="what `tokenize` wrote")] = Path("data/tokens"),
    tokenizers: Annotated[Path, typer.Option(help="what `tokenizer` wrote")] = Path("models/tokenizers"),
) -> None:
    """Write the steps that fit a CPU time into params.yaml. Example: stemma calibrate bert --minutes 5."""
    from stemma.adapters.calibrate import calibrate as fit

    folders = {"tokens": tokens, "tokenizers": tokenizers}
    for line in fit(Path(), variant, minutes, seconds=seconds, write=not dry_run, **folders):
        print(line)


@app.command()
def score(
    model: Annotated[Path, typer.Argument(help="a pretrained model's folder")],
    file: Annotated[Path, typer.Argument(help="text, a sentence a line; - is standard input")],
) -> None:
    """Say how surprised a model is by each line of a text. Example: stemma score models/pretrained/ngram text.txt."""
    from stemma.adapters.score import describe_scores

    for line in describe_scores(model, None if file == Path("-") else file):
        print(line)


@app.command()
def translate(
    model: Annotated[Path, typer.Argument(help="a pretrained model's folder")],
    file: Annotated[Path, typer.Argument(help="text, a sentence a line; - is standard input")] = Path("-"),
    beam: Annotated[int, typer.Option(min=0, help="beginnings that are held; 0 is the model's own number")] = 0,
) -> None:
    """Translate a text line by line. Example: stemma translate models/pretrained/transformer text.txt."""
    from stemma.adapters.translate import translate_lines

    for line in translate_lines(model, None if file == Path("-") else file, beam or None):
        print(line)


@app.command()
def fill(
    model: Annotated[Path, typer.Argument(help="a pretrained model's folder")],
    file: Annotated[Path, typer.Argument(help="text with [MASK] in every line; - is standard input")] = Path("-"),
    count: Annotated[int, typer.Option(min=1, help="how many words for each [MASK]")] = 5,
) -> None:
    """Show the likeliest words for every [MASK] of a text. Example: stemma fill models/pretrained/bert text.txt."""
    from stemma.adapters.fill import describe_fillings

    for line in describe_fillings(model, None if file == Path("-") else file, count):
        print(line)


@app.command()
def generate(
    model: Annotated[Path, typer.Argument(help="a pretrained model's folder")],
    file: Annotated[Path, typer.Argument(help="text, a beginning a line; - is standard input")] = Path("-"),
    tokens: Annotated[int, typer.Option(min=1, help="how many to add to each line, at most")] = 40,
    temperature: Annotated[
        float, typer.Option(min=0.0, help="0 takes the likeliest token, 1 draws by probability")
    ] = 0.0,
    top_k: Annotated[int | None, typer.Option(min=1, help="draw among so many of the likeliest alone")] = None,
    seed: Annotated[int, typer.Option(min=0, help="of what is drawn")] = 1,
) -> None:
    """Continue every line of a text. Example: stemma generate models/pretrained/gpt beginnings.txt --temperature 0.8."""
    from stemma.adapters.generate import continue_lines

    text = None if file == Path("-") else file
    for line in continue_lines(model, text, tokens=tokens, temperature=temperature, top_k=top_k, seed=seed):
        print(line, flush=True)


@app.command()
def explain(
    name: Annotated[str, typer.Argument(help="a worked example; left out, their names are shown")] = "",
    plot: Annotated[Path | None, typer.Option(help="an .svg to draw it into, if it has a plot")] = None,
) -> None:
    """Tell one of the lectures' worked examples, step by step. Example: stemma explain chain-rule."""
    from stemma.lessons import draw, lessons
    from stemma.lessons import explain as tell

    if plot is not None:
        draw(name, plot)
        print(f"Wrote {plot}")
        return
    for line in tell(name) if name else lessons():
        print(line)


@app.command()
def factors(
    model: Annotated[Path, typer.Argument(help="a pretrained n-gram model's folder")],
    sentence: Annotated[str, typer.Argument(help="plain text")],
) -> None:
    """Show a sentence's probability factor by factor. Example: stemma factors models/pretrained/ngram "the cat sat"."""
    from stemma.families.ngram.chain import explain_sentence

    for line in explain_sentence(model, sentence):
        print(line)


@app.command()
def export_arpa(
    model: Annotated[Path, typer.Argument(help="a pretrained n-gram model's folder")],
    out: Annotated[Path, typer.Argument(help="the ARPA file; compressed if it ends in .gz")],
) -> None:
    """Write an n-gram model as ARPA. Example: stemma export-arpa models/pretrained/ngram model.arpa.gz."""
    from stemma.families.ngram.arpa import export_arpa as export

    export(model, out)
    print(f"Wrote {out}")


@app.command()
def neighbours(
    word: Annotated[str, typer.Argument(help="a word")],
    model: Vectors = None,
    count: Annotated[int, typer.Option(min=1, help="how many")] = 10,
) -> None:
    """Show the words nearest to a word. Example: stemma neighbours boat."""
    from stemma.adapters.words import describe_neighbours

    for line in describe_neighbours(_open_words(model), word, count):
        print(line)


@app.command()
def analogy(
    first: Annotated[str, typer.Argument(help="A")],
    second: Annotated[str, typer.Argument(help="B")],
    third: Annotated[str, typer.Argument(help="C")],
    model: Vectors = None,
    count: Annotated[int, typer.Option(min=1, help="how many")] = 5,
) -> None:
    """A is to B as C is to what? Example: stemma analogy boat boats train."""
    from stemma.adapters.words import describe_analogy

    for line in describe_analogy(_open_words(model), first, second, third, count):
        print(line)


@app.command()
def plot_words(
    file: Annotated[Path, typer.Argument(help="an .svg or .png")],
    words: Annotated[list[str], typer.Argument(help="three or more")],
    model: Vectors = None,
) -> None:
    """Draw words by their two principal components. Example: stemma plot-words words.svg boat boats train trains."""
    from stemma.adapters.words import draw_words

    draw_words(_open_words(model), words, file)
    print(f"Wrote {file}")


@app.command()
def export_vectors(
    model: Annotated[Path, typer.Argument(help="a pretrained model's folder")],
    file: Annotated[Path, typer.Argument(help="in word2vec's format")],
    binary: Annotated[bool, typer.Option("--binary", help="its binary kind")] = False,
) -> None:
    """Write word vectors for other tools. Example: stemma export-vectors models/pretrained/word2vec vectors.txt."""
    from stemma.adapters.words import export_vectors as export

    export(model, file, binary=binary)
    print(f"Wrote {file}")


def _seconds() -> dict[str, float]:
    from stemma.adapters.store import MlflowStore
    from stemma.adapters.timings import training_seconds
    from stemma.config import load_params

    return training_seconds(load_params(PARAMS).variants, Path("models/pretrained"), MlflowStore())


def _open_words(model: Path | None) -> "Words":
    from stemma.adapters.words import choose_model, open_words

    if model is None:
        model = choose_model(PARAMS, Path("models/pretrained"))
        print(f"model: {model}", file=sys.stderr)
    return open_words(model)


@contextmanager
def _stage(name: str) -> Iterator[tuple["Params", Progress]]:
    """What every stage's process does first: die with its parent, keep a second writer out, read the settings."""
    from stemma.config import load_params
    from stemma.families import check_families
    from stemma.fence import die_with_parent, hold

    die_with_parent()
    params = load_params(PARAMS)
    check_families(params)
    with hold(name), open_progress(name) as progress:
        yield params, progress
