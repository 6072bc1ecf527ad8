"""Layer 5, documents: files the user hands over, parsed, chunked by structure and put into the shared index."""

from memory_os.documents.chunk import CHUNKER
from memory_os.documents.ingest import Documents, FileReport, IngestReport
from memory_os.documents.instruction import instruction_like

__all__ = ["CHUNKER", "Documents", "FileReport", "IngestReport", "instruction_like"]
