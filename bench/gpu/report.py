#!/usr/bin/env python3
"""Gathers the files of bench/gpu/contact into docs/figures/gpu/DEVICE.json:

    python3 bench/gpu/report.py FOLDER...

Each FOLDER is an --out of bench/gpu/contact. Files of several commits or devices are refused. If a stage
ran several times, later results replace earlier ones, and what a later run did not measure is kept
(merge.py). The same holds for a figures file of the same commit and device. On an H100 or H200, figures with a target are printed
beside it (targets.py). The exit code is 1 if a stage failed."""
import argparse
import json
import pathlib
import re
import sys

import kernels_hash
import merge
import targets

# The parts of a complete file.
WHOLE = ("first", "checks", "sanitizer", "tests", "bits", "model", "benchmarks", "trace", "fed", "images",
         "peers")
FACTS = ("device", "driver", "nvcc", "commit", "kernels_hash", "cores")


class Report:
    """The file of figures. It keeps what earlier runs of the same commit on the same device measured."""

    def __init__(self, path, folder, facts):
        """The file is `path`, or, if that is empty, a file in `folder` named after the device."""
        name = re.sub(r"[^a-z0-9]+", "-", facts["device"].lower()).strip("-") or "gpu"
        self.path = pathlib.Path(path or pathlib.Path(folder) / f"{name}.json")
        self.found = {**self._earlier(facts), **{key: fact for key, fact in facts.items() if fact}}

    def _earlier(self, facts):
        try:
            earlier = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}
        if facts["commit"].endswith("-dirty"):
            # Two different trees with changes have the same name, so their figures are not kept.
            return {}
        # An empty fact is not in the file.
        same = all(earlier.get(key, "") == facts[key] for key in ("device", "commit", "kernels_hash"))
        return earlier if same else {}

    def add(self, stage, results):
        """Adds the results of a stage, as its file has them, and writes the figures."""
        others = self.found.get("stages", {})
        earlier = {part: self.found[part] for part in (*WHOLE, "left_out") if part in self.found}
        is_later = stage["date"] >= others.get(stage["stage"], {}).get("date", "")
        runs = (earlier, results) if is_later else (results, earlier)
        self.found |= merge.results(*runs)
        notes = {key: stage[key] for key in ("date", "command", "seconds", "failures", "cut_off", "now")
                 if stage.get(key)}
        if is_later:
            self.found["stages"] = {**others, stage["stage"]: notes}
        self.found["times_the_best_peer"] = times_the_peer(self.found)
        self.found["targets"] = targets.compared(self.found)
        self.found["incomplete"] = incomplete(self.found)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.found, indent=1) + "\n")


def times_the_peer(report):
    """Returns our deterministic rate over the twin's best, for each model for which both were measured."""
    ratios = {}
    for name, runs in report.get("model", {}).items():
        peer = (report.get("peers", {}).get("best") or {}).get(name)
        ours = (runs["deterministic"].get("positions_per_second")
                if isinstance(runs, dict) and "deterministic" in runs else None)
        if ours and peer:
            ratios[name] = ours / peer["positions_per_second"]
    return ratios


def incomplete(found):
    """Returns the parts that the report lacks, those without a result, stages that were cut off, and the
    kernels' shapes that do not fit a block of this GPU."""
    parts = {name: part for name, part in found.items() if name not in ("left_out", "stages")}
    shapes = [shape["name"] for part in found.get("left_out", {}).values() for shape in part]
    cut = [f"stages.{name}" for name, stage in found.get("stages", {}).items() if "cut_off" in stage]
    return [part for part in WHOLE if part not in found] + sorted([*gaps(parts), *shapes, *cut])


def gaps(found):
    return paths_where(lambda part: {"left_out", "not_run", "skipped", "failed", "error"} & set(part) or
                       part.get("incomplete") is True, found)


def paths_where(condition, found, path=""):
    """Returns the paths, such as "model.large.fast", of the dictionaries in `found` that meet `condition`."""
    if condition(found):
        yield path
    for name, value in found.items():
        if isinstance(value, dict):
            yield from paths_where(condition, value, f"{path}.{name}" if path else name)


def stages_in(folders):
    """Returns the contents of the stages' files, earlier ones first."""
    files = [file for folder in folders for file in sorted(pathlib.Path(folder).rglob("*.json"))]
    found = [json.loads(file.read_text()) for file in files]
    return sorted((stage for stage in found if "stage" in stage), key=lambda stage: stage["date"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--out", help="output file [default: docs/figures/gpu/DEVICE.json]")
    options = parser.parse_args()
    stages = stages_in(options.folders)
    if not stages:
        parser.error(f"no file of a stage in {', '.join(map(str, options.folders))}")
    for fact in ("commit", "device"):
        different = {stage.get(fact) or "without a name" for stage in stages}
        if len(different) > 1:
            parser.error(f"files of several {fact}s: {', '.join(sorted(different))}")
    facts = {key: stages[0].get(key, "") for key in FACTS}
    report = Report(options.out, kernels_hash.ROOT / "docs" / "figures" / "gpu", facts)
    for stage in stages:
        report.add(stage, stage["results"])
    for stage in stages:
        for failure in stage["failures"]:
            print(f"{stage['stage']}: FAILED {failure}")
    for figure, comparison in report.found["targets"].items():
        print(f"{figure}: {targets.line(**comparison)}")
    print(f"wrote {report.path}; not measured: {', '.join(report.found['incomplete']) or 'nothing'}")
    return 1 if any(stage["failures"] for stage in stages) else 0


if __name__ == "__main__":
    sys.exit(main())
