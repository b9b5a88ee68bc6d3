"""The file of figures that bench/gpu/run writes, part by part."""
import json
import pathlib
import re

# The parts of a complete file.
WHOLE = ("checks", "benchmarks", "bits", "model", "fed", "peers")


class Report:
    """The file of figures. It keeps what an earlier run of the same commit measured."""

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
        same = all(earlier.get(key, "") == facts[key] for key in ("commit", "kernels_hash"))
        return earlier if same else {}

    def forget(self, part):
        """Removes what an earlier run wrote for the part."""
        self.found.pop(part, None)

    def add(self, **parts):
        """Adds the parts and writes the file, so that they are kept if a later part fails."""
        self.found |= parts
        measured = {key: self.found[key] for key in ("date", "command") if key in self.found}
        self.found["runs"] = self.found.get("runs", {}) | {part: measured for part in parts}
        self.found["times_the_best_peer"] = times_the_peer(self.found)
        self.found["incomplete"] = incomplete(self.found)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.found, indent=1) + "\n")


def times_the_peer(report):
    """Our deterministic rate over the twin's best, for each model for which both were measured."""
    ratios = {}
    for name, runs in report.get("model", {}).items():
        peer = (report.get("peers", {}).get("best") or {}).get(name)
        ours = (runs["deterministic"].get("positions_per_second")
                if isinstance(runs, dict) and "deterministic" in runs else None)
        if ours and peer:
            ratios[name] = ours / peer["positions_per_second"]
    return ratios


def incomplete(found):
    """The parts that the report lacks, those that were "left_out" or "failed" or are "incomplete", and
    the kernels' shapes that do not fit a block of this GPU."""
    parts = {name: part for name, part in found.items() if name != "left_out"}
    shapes = [shape["name"] for part in found.get("left_out", {}).values() for shape in part]
    return [part for part in WHOLE if part not in found] + sorted([*gaps(parts), *shapes])


def gaps(found):
    return paths_where(
        lambda part: {"left_out", "failed"} & set(part) or part.get("incomplete") is True, found)


def failures(found):
    """The paths of the parts that "failed"."""
    return list(paths_where(lambda part: "failed" in part, found))


def paths_where(condition, found, path=""):
    """The paths, such as "model.large.fast", of the dictionaries in `found` that meet `condition`."""
    if condition(found):
        yield path
    for name, value in found.items():
        if isinstance(value, dict):
            yield from paths_where(condition, value, f"{path}.{name}" if path else name)
