"""Bad settings are refused in one sentence that names the value and the remedy."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bnfuzz.campaign.settings import Settings
from bnfuzz.errors import UsageError

GOOD: dict[str, Any] = {"backends": ("numpy",), "minutes": 1.0}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"backends": ()}, "bnfuzz backends"),
        ({"minutes": None}, "either minutes or cases"),
        ({"cases": 10}, "either minutes or cases"),
        ({"minutes": 0.0}, "minutes=0.0"),
        ({"minutes": -1.0}, "minutes=-1.0"),
        ({"minutes": math.nan}, "minutes=nan"),
        ({"minutes": math.inf}, "minutes=inf"),
        ({"minutes": None, "cases": 0}, "cases=0"),
        ({"trials": 0}, "trials=0"),
        ({"trials": 10**8}, "at most 4096"),
        ({"seed": -1}, "seed=-1"),
        ({"formats": ("float8",)}, "bfloat16"),
        ({"modes": ("dreaming",)}, "training, inference"),
        ({"outputs": ("z",)}, "new_running_var"),
        ({"families": ("chaos",)}, "two_valued"),
    ],
)
def test_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Settings(**(GOOD | change))


def test_accepted() -> None:
    Settings(**GOOD, formats=("float32",), modes=("inference",), outputs=("y", "dx"), families=("constant",))
