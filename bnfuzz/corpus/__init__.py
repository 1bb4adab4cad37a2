"""The corpus: a folder of case files, and the list of known findings beside them."""

from bnfuzz.corpus.folder import KNOWN_FILE, Corpus, Entry, Merge, Problem, case_paths, file_stem
from bnfuzz.corpus.known import KnownFinding

__all__ = ["KNOWN_FILE", "Corpus", "Entry", "KnownFinding", "Merge", "Problem", "case_paths", "file_stem"]
