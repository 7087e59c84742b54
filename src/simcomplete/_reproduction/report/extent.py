"""How much of an experiment is run: seeds and time limits, what is left out and why, and how timings were taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.reported import method_label, set_label
from simcomplete._reproduction.summary import QUIET_LOAD, CellSummary, is_timed
from simcomplete._reproduction.without import REASON


def describe_runs(protocol: Protocol, cells: Sequence[CellSummary] = ()) -> str:
    """Say how often a cell is run, how long a run may take, what is left out, and how timings were taken.

    Examples
    --------
    >>> from simcomplete._reproduction.protocol import load_protocol
    >>> describe_runs(load_protocol("threshold"))
    'Seeds: 5. A run may take 300 s of processor time. Left out: NNFN on X, for the printed ranks are those of S.'
    """
    text = f"Seeds: {len(protocol.seeds)}. A run may take {protocol.time_limit:g} s of processor time."
    left = describe_cuts(protocol)
    if left:
        text += f" Left out: {'; '.join(left)}."
    return f"{text} {describe_timings(cells)}" if is_timed(protocol) else text


def describe_cuts(protocol: Protocol) -> list[str]:
    """Return what a protocol leaves out, with reasons.

    Examples
    --------
    >>> from simcomplete._reproduction.protocol import load_protocol
    >>> describe_cuts(load_protocol("threshold"))
    ['NNFN on X, for the printed ranks are those of S']
    """
    cuts = [protocol.left_out.rstrip(".")] if protocol.left_out else []
    for column in protocol.columns if protocol.layout != "properties" else ():  # there, one column for each method
        untuned = [m for m in protocol.methods if m not in column.get("methods", protocol.methods)]
        if untuned and column.get("params", {}).get("tune"):
            why = column.get(REASON, "trying the whole grid takes long")
            cuts.append(f"{_join(map(method_label, untuned))} tuned, because {why}")
    reasons: dict[str, list[str]] = {}  # places with the same reason in one sentence
    for entry in protocol.without:
        reasons.setdefault(entry[REASON], []).append(_place(entry))
    cuts += [f"{', and '.join(places)}, because {why}" for why, places in reasons.items()]
    fewer = _fewer_seeds(protocol)
    return [*cuts, f"{fewer}, to save time"] if fewer else cuts


def describe_timings(cells: Sequence[CellSummary]) -> str:
    """Say how timings were taken: on a quiet machine, or beside other work."""
    start = "Timings are those of one machine, one version and one run"
    loads = [cell.load for cell in cells if cell.load is not None]
    if not loads or max(loads) <= QUIET_LOAD:
        return f"{start} with nothing else on the machine; runs that were made beside other work are not timed."
    return (
        f"{start} beside other work (the load was {min(loads):.0f} to {max(loads):.0f}; 1 is this run alone). "
        "Processor time leaves out waiting, but shared caches lengthen it: small differences mean nothing."
    )


def _fewer_seeds(protocol: Protocol) -> str:
    slow: dict[int, list[str]] = {}
    for place, count in protocol.fewer_seeds.items():
        method, _, column = place.partition(" ")
        if method in protocol.methods and count < len(protocol.seeds):
            slow.setdefault(count, []).append(f"{method_label(method)} {column}".strip())
    every = len(protocol.seeds)
    return ", and ".join(f"{_join(names)} with {count} of {every} seeds" for count, names in sorted(slow.items()))


def _place(entry: Mapping[str, Any]) -> str:
    """Name a combination: what is left out, then where."""
    what = _join(method_label(name) for name in entry.get("method", []))
    column = _join(entry.get("column", []))
    numbers = [name for name in entry if name not in ("method", "column", "dataset", REASON)]
    at = [f"at {name} {_join(f'{value:g}' for value in entry[name])}" for name in numbers]
    on = f"on {_join(set_label(name) for name in entry['dataset'])}" if "dataset" in entry else ""
    return " ".join(part for part in (what, column, *at, on) if part)


def _join(words: Any) -> str:
    """Join words as in a sentence."""
    *first, last = [str(word) for word in words] or [""]
    return f"{', '.join(first)} and {last}" if first else last
