"""Layer 5, documents: files the user hands over, parsed, chunked by structure and put into the shared index."""

from memory_os.documents.chunk import CHUNKER
from memory_os.documents.ingest import Documents
from memory_os.documents.instruction import instruction_like
from memory_os.documents.prepare import Prepared, prepare, prepare_file
from memory_os.documents.report import FileReport, IngestReport
from memory_os.documents.scan import Changes, Root, Seen

__all__ = [
    "CHUNKER", "Changes", "Documents", "FileReport", "IngestReport", "Prepared", "Root", "Seen", "instruction_like",
    "prepare", "prepare_file",
]  # fmt: skip
