"""Stage `tokenize`: a cleaned corpus and a tokenizer -> a token store a split, and a report on the fit."""

from pathlib import Path

from stemma.data.clean_documents import read_clean
from stemma.data.splits import SPLITS, Split
from stemma.data.token_store import TokenStoreWriter, id_dtype
from stemma.data.workers import open_workers
from stemma.data.workspace import data_threads, keep_no_large_blocks
from stemma.files import atomic_dir, write_json
from stemma.progress import Progress
from stemma.text.encoding import Fit, SentenceEncoder, encode_documents
from stemma.text.segmentation import load_segmenter
from stemma.text.threads import use_threads
from stemma.text.vocabulary import KINDS_AT_SPACES, load_tokenizer, read_kind

__all__ = ["run"]


def run(progress: Progress, *, corpus: Path, tokenizer: Path, out: Path) -> None:
    """Encode every split of `corpus`; no setting but the tokenizer's own matters."""
    use_threads(data_threads())
    keep_no_large_blocks()
    kind = read_kind(tokenizer)
    segment = load_segmenter() if kind == "jieba" else None
    with open_workers(data_threads() if segment else 1) as workers, atomic_dir(out) as folder:
        encoder = SentenceEncoder(
            load_tokenizer(tokenizer, segmented=True),
            at_spaces=kind in KINDS_AT_SPACES,
            segment=(lambda sentences: list(workers.spread(segment, sentences))) if segment else None,
        )
        splits = {split: _encode_split(split, encoder, progress, corpus, folder / split) for split in SPLITS}
        write_json(folder / "report.json", {"vocabulary_size": encoder.vocabulary_size, "splits": splits})


def _encode_split(
    split: Split, encoder: SentenceEncoder, progress: Progress, corpus: Path, folder: Path
) -> dict[str, float]:
    progress.start(f"encoding {split}", None, "documents")
    fit = Fit()
    with TokenStoreWriter(folder, id_dtype(encoder.vocabulary_size)) as writer:
        for table in read_clean(corpus, split):
            for chunk in table["sentences"].chunks:
                for document in encode_documents(encoder, chunk, fit):
                    writer.add(document.ids, document.sentence_lengths, document.num_bytes)
                progress.update(fit.num_documents, {"tokens": fit.num_tokens})
    return fit.report()
