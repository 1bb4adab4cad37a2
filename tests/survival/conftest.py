"""Puts the helper module beside this file where a fork server's processes find it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
