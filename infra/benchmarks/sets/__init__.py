"""Sets of memories and questions for tuning the retrieval: two kinds of assistant logs, documents and short facts.

    python -m infra.benchmarks.sets

All sets are generated. They are the same in each run with the same installed packages. The wordings of statements and
questions are in facts.json. The surrounding text comes from the docstrings of the installed packages and of Python's
standard library.
"""
