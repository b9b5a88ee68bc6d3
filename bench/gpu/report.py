"""The file of figures that bench/gpu/run writes, part by part."""
import json
import pathlib
import re

# What is in it when everything was measured.
WHOLE = ("checks", "benchmarks", "bits", "model", "fed", "peers")


class Report:
    """The file of figures; holds what an earlier run of the same commit measured."""

    def __init__(self, path, folder, facts):
        """At `path`, else in `folder`, called after the device."""
        name = re.sub(r"[^a-z0-9]+", "-", facts["device"].lower()).strip("-") or "gpu"
        self.path = pathlib.Path(path or pathlib.Path(folder) / f"{name}.json")
        self.found = {**self._earlier(facts), **{key: fact for key, fact in facts.items() if fact}}

    def _earlier(self, facts):
        try:
            earlier = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}
        if facts["commit"].endswith("-dirty"):
            return {}  # Two trees with changes have the same name.
        # A fact that nobody could tell is not in the file.
        same = all(earlier.get(key, "") == facts[key] for key in ("commit", "kernels_hash"))
        return earlier if same else {}

    def forget(self, part):
        """What an earlier run said of it is no longer so."""
        self.found.pop(part, None)

    def add(self, **parts):
        """Writes them, so that they are there whatever ends the next part."""
        self.found |= parts
        measured = {key: self.found[key] for key in ("date", "command") if key in self.found}
        self.found["runs"] = self.found.get("runs", {}) | {part: measured for part in parts}
        self.found["times_the_best_peer"] = times_the_peer(self.found)
        self.found["incomplete"] = incomplete(self.found)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.found, indent=1) + "\n")


def times_the_peer(report):
    """Our deterministic rate over the twin's best, by model, where both were measured."""
    ratios = {}
    for name, runs in report.get("model", {}).items():
        peer = (report.get("peers", {}).get("best") or {}).get(name)
        ours = (runs["deterministic"].get("positions_per_second")
                if isinstance(runs, dict) and "deterministic" in runs else None)
        if ours and peer:
            ratios[name] = ours / peer["positions_per_second"]
    return ratios


def incomplete(found):
    """What is not in the report, or says that it was "left_out", "failed" or is "incomplete"; and the
    kernels' shapes that do not fit a block of this GPU."""
    parts = {name: part for name, part in found.items() if name != "left_out"}
    shapes = [shape["name"] for part in found.get("left_out", {}).values() for shape in part]
    return [part for part in WHOLE if part not in found] + sorted([*gaps(parts), *shapes])


def gaps(found):
    return paths_where(
        lambda part: {"left_out", "failed"} & set(part) or part.get("incomplete") is True, found)


def failures(found):
    """What says that it "failed"."""
    return list(paths_where(lambda part: "failed" in part, found))


def paths_where(condition, found, path=""):
    """Of the dictionaries in `found`, as "model.large.fast"."""
    if condition(found):
        yield path
    for name, value in found.items():
        if isinstance(value, dict):
            yield from paths_where(condition, value, f"{path}.{name}" if path else name)
