"""Merges the results of two runs of bench/gpu/contact, of which one may have run fewer parts."""
import model
import peers

# How many names stand between a part of the results and its outcomes: model.tiny.fast has two.
DEPTHS = {"first": 2, "sanitizer": 2, "tests": 1, "bits": 2, "model": 2, "trace": 1, "fed": 2, "images": 2}
# Lists of outcomes, and the key of an outcome's name. A check has several outcomes.
LISTS = {"checks": "check", "benchmarks": "benchmark"}
NOT_MEASURED = {"left_out", "not_run"}


def is_measured(outcome):
    """Returns whether a run came to this outcome. A failure is one."""
    return not isinstance(outcome, dict) or not NOT_MEASURED & set(outcome)


def has_names(found):
    """Returns whether these are outcomes by name, and not one outcome that stands for all."""
    return isinstance(found, dict) and is_measured(found) and "failed" not in found


def outcomes(earlier, later, depth):
    """Returns the outcomes of both. The later one wins, unless it was not measured."""
    if earlier is None or later is None:
        return earlier if later is None else later
    if not is_measured(later):
        return earlier
    if depth == 0 or not all(has_names(one) for one in (earlier, later)):
        return later
    return {name: outcomes(earlier.get(name), later.get(name), depth - 1)
            for name in {**earlier, **later}}


def lists(earlier, later, key):
    """Returns both lists, without the earlier outcomes of what was measured again."""
    if not isinstance(earlier, list) or not isinstance(later, list):
        return outcomes(earlier, later, 0)
    again = {one[key] for one in later}
    return [one for one in earlier if one[key] not in again] + later


def left_out(earlier, later, found):
    """Returns, for each list of outcomes, what both runs left out and neither measured."""
    merged = {}
    for part in {**earlier, **later}:
        known = found.get(part)
        measured = {one[LISTS[part]] for one in known} if isinstance(known, list) else set()
        named = {one["name"]: one for one in earlier.get(part, []) + later.get(part, [])}
        merged[part] = [one for name, one in named.items() if name not in measured]
    return merged


def combinations(earlier, later):
    """Returns the results of `peers` of both. They are complete if one of them is."""
    if not (earlier and later and "all" in earlier and "all" in later):
        return outcomes(earlier, later, 0)
    named = {}
    for one in earlier["all"] + later["all"]:
        name = (one["model"], one.get("attention"), one.get("mode"))
        named[name] = outcomes(named.get(name), one, 0)
    found = list(named.values())
    return {**later, "all": found, "best": peers.bests(found),
            "incomplete": earlier["incomplete"] and later["incomplete"]}


def add_ratios(models):
    """Computes the ratios of each model again, because its figures may be those of several runs."""
    for name, figures in models.items():
        if isinstance(figures, dict) and {*model.REDUCTIONS, "products"} <= set(figures):
            runs = {key: run for key, run in figures.items() if isinstance(run, dict)}
            models[name] = {**runs, **model.ratios(runs)}


def results(earlier, later):
    """Returns the results of two runs of any stages."""
    found = {**earlier, **later}
    for part in set(earlier) & set(later):
        if part in LISTS:
            found[part] = lists(earlier[part], later[part], LISTS[part])
        elif part in DEPTHS:
            found[part] = outcomes(earlier[part], later[part], DEPTHS[part])
        elif part == "peers":
            found[part] = combinations(earlier[part], later[part])
    found["left_out"] = left_out(earlier.get("left_out", {}), later.get("left_out", {}), found)
    add_ratios(found.get("model", {}))
    return found
