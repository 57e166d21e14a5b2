"""The array type of the whole package."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
