import os
from pathlib import Path

# The binary of this repository, unless another one is chosen.
os.environ.setdefault("HOLDFAST_BINARY", str(Path(__file__).parents[3] / "bin" / "holdfast"))
