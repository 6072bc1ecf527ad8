"""Text in any script: the terms full-text search sees, message contents as text, token estimates, slugs."""

from memory_os.text.content import plain_text, token_estimate
from memory_os.text.terms import index_terms, query_terms

__all__ = ["index_terms", "plain_text", "query_terms", "token_estimate"]
