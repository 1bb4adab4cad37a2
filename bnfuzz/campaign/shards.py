"""A whole campaign, from its settings to its report, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.discover import Discovery
from bnfuzz.campaign.run import Campaign, Report
from bnfuzz.campaign.settings import Settings
from bnfuzz.corpus import Corpus


def run_campaign(
    asked: Settings,
    corpus_folder: Path | Corpus | None,
    *,
    limits: Limits | None = None,
    announce: Callable[[Discovery], None] = lambda _: None,
    tick: Callable[[Any], None] = lambda _: None,
) -> Report:
    """Runs the campaign to its end. `corpus_folder` holds what is known, and takes what is found; None: neither."""
    corpus = Corpus(corpus_folder) if isinstance(corpus_folder, Path) else corpus_folder
    with Pool(limits) as pool:
        return Campaign(asked, pool, corpus, announce=announce, tick=tick).run()
