"""`memory-os eval`: how well memory finds what it should, by the very path a turn takes, beside plain FTS5."""

from memory_os_workers.eval.corpora import Corpus, Question, crossed, load_corpora, load_questions
from memory_os_workers.eval.run import Evaluation, evaluate, evaluate_own

__all__ = [
    "Corpus", "Evaluation", "Question", "crossed", "evaluate", "evaluate_own", "load_corpora", "load_questions",
]  # fmt: skip
