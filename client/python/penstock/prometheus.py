"""The metrics of all Loaders of this process, for Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock._stream import open_streams

__all__ = ["metrics"]

_SAMPLE = re.compile(r"([A-Za-z0-9_:]+)(?:\{(.*)\})? (\S+)")


def metrics() -> str:
    """Returns the metrics of the open Loaders of this process, in Prometheus' text format.

    The label "loader" numbers the Loaders of this process from 0. A Loader has metrics once it has
    been read. Metrics of the feed's process (process_*) are left out, because they would look like
    those of this process.

    Example:
        class Penstock:
            def collect(self):
                return prometheus_client.parser.text_string_to_metric_families(penstock.metrics())

        prometheus_client.REGISTRY.register(Penstock())
    """
    return merge((stream.number, stream.metrics_page()) for stream in open_streams())


def merge(pages: Iterable[tuple[int, str]]) -> str:
    """Makes one page of the pages of numbered Loaders: each metric's samples come together."""
    families: dict[str, tuple[list[str], list[str]]] = {}
    for number, page in pages:
        samples: list[str] = []
        for line in page.splitlines():
            if line.startswith("# "):
                heads, samples = families.setdefault(line.split(" ", 3)[2], ([], []))
                if line not in heads:
                    heads.append(line)
            elif match := _SAMPLE.match(line):
                name, labels, value = match.groups(default="")
                more = f",{labels}" if labels else ""
                samples.append(f'{name}{{loader="{number}"{more}}} {value}')
    lines = [line for name, parts in families.items() if not name.startswith("process_")
             for part in parts for line in part]
    return "".join(f"{line}\n" for line in lines)
