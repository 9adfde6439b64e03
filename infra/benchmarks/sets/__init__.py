"""Tuning sets for retrieval of different shapes: assistant logs, documents and short facts.

    python -m infra.benchmarks.sets [--write DIRECTORY]

All are generated and the same at each run. The statements and questions are in facts.json. The surrounding text is
the docstrings of the packages that requirements.lock names, and of Python's standard library.
"""
