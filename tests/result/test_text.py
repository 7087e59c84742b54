"""Results printed in a terminal: aligned tables."""

import numpy as np
import pandas as pd

import simcomplete as sc

X = pd.DataFrame(
    [[1.0, 0.0, 0.5], [0.0, 1.0, None], [1.0, 1.0, 0.2]], index=["anna", "ben", "cleo"], columns=["a", "b", "c"]
)


def test_a_search_prints_a_line_for_every_neighbour():
    caption, head, *lines = str(sc.complete(X, method="overlap").search(k=1)).splitlines()
    assert caption == "Neighbours: 1 of each of 3 rows"
    assert head.split() == ["query", "rank", "candidate", "score"]
    # anna and cleo: 1.1 / sqrt(1.25 * 2.04) = 0.689; ben and cleo, over two features: 1 / sqrt(2) = 0.707
    assert [line.split() for line in lines] == [
        ["anna", "1", "cleo", "0.689"],
        ["ben", "1", "cleo", "0.707"],
        ["cleo", "1", "ben", "0.707"],
    ]
    assert all(line.index("1") == head.index("rank") for line in lines)


def test_only_the_first_ten_queries_are_printed():
    many = sc.complete(np.eye(12), method="overlap").search(k=2)
    caption, _, *lines = str(many).splitlines()
    assert caption == "Neighbours: 2 of each of 12 rows, the first 10 shown"
    assert len(lines) == 20


def test_an_election_prints_what_its_list_holds():
    rng = np.random.default_rng(0)
    table = sc.complete(rng.random((60, 2)) @ rng.random((2, 8)), rng.random((3, 8)), method="auto").election
    _, head, *lines = str(table).splitlines()
    assert head.split() == ["method", "error", "recall", "seconds", "note"]
    assert [line.split()[0] for line in lines] == [row["method"] for row in table]
    assert [line.split()[1] for line in lines] == [f"{row['error']:.3f}" for row in table]
