"""Draw the README's picture: python docs/picture.py [FILE]."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import numpy as np

from simcomplete._report import demo, figures


def main(target: Path, **settings: int) -> None:
    """Run the demonstration and write its spectrum as PNG."""
    shown = demo.run(methods=["overlap", "posterior"], **settings)
    named = {"S0, overlap similarity": shown.before, "after posterior": shown.after, "S*, the truth": shown.truth}
    address = figures.spectrum({name: np.linalg.eigvalsh(S) for name, S in named.items()})
    target.write_bytes(base64.b64decode(address.split(",", 1)[1]))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("spectrum.png"))
