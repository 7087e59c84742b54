"""Vector indexes over the rows of a factor: products of rows are similarities, so an inner-product index finds them.

FAISS narrows the search down in float32; what it finds is scored again from the rows in float64, best first, ties by
lower position. From a flat index the answer is exact: where rounding could have hidden a better row, everything within
the rounding is looked at. "ivf" and "hnsw" look at a part of the rows only, and `recall` tells how much they miss.

    S_qp = sum_j (F_qj signs_j) F_pj,    so signs are folded into the queries and the index holds plain rows
"""

from simcomplete.index._completed import nearest, over
from simcomplete.index._files import export, read
from simcomplete.index._query import recall, search
from simcomplete.index._rows import Rows
from simcomplete.index._vectors import Kind, VectorIndex, build

__all__ = ["Kind", "Rows", "VectorIndex", "build", "export", "nearest", "over", "read", "recall", "search"]
