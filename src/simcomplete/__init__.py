"""simcomplete: the similarity matrix you would have had on complete data.

>>> import numpy as np, simcomplete as sc
>>> done = sc.complete(np.eye(3), np.array([[1.0, np.nan, 0.0]]), method="smcnn")
>>> done.search(k=1).ids
array([[0]])
"""

from simcomplete import datasets, errors, metrics
from simcomplete._version import __version__
from simcomplete.api import complete, complete_similarity
from simcomplete.completion import Completion
from simcomplete.registry import methods
from simcomplete.similarity import masks
from simcomplete.similarity.overlap import overlap_counts, overlap_similarity
from simcomplete.stored import load

__all__ = [
    "Completion",
    "__version__",
    "complete",
    "complete_similarity",
    "datasets",
    "errors",
    "load",
    "masks",
    "methods",
    "metrics",
    "overlap_counts",
    "overlap_similarity",
]
