"""Recall: from a message to the lines that matter for it, or to none."""

from memory_os.recall.flow import Recall, Recalled
from memory_os.recall.query import Query, Visible, query_of, scope_of

__all__ = ["Query", "Recall", "Recalled", "Visible", "query_of", "scope_of"]
