"""The stages `checks` and `kernels` of bench/gpu/contact: compares each kernel with its reference, runs it
under compute-sanitizer, and measures its bandwidth."""
import concurrent.futures
import pathlib
import re
import signal
import tempfile

import processes

PROGRAM = "kernels_check_bench"
SKIPPED = 77  # The program's exit code without a GPU.
# Time limits in seconds.
GROUP_LIMIT, SANITIZER_LIMIT, BUILD_LIMIT, BENCH_LIMIT = 120, 60, 300, 300
TOOLS = ("memcheck", "racecheck")
AT_A_TIME = 4  # Number of processes under compute-sanitizer.
FOUND_ERRORS = 9  # Exit code of compute-sanitizer if it found errors.
# Matches a message that the sanitizer itself failed, or refuses this device or driver.
REFUSES = re.compile(r"^=+ .*(not supported|unsupported|internal sanitizer error|insufficient|"
                     r"unable to|failed to initiali|no attachable)", re.I | re.M)
SUMMARY = re.compile(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+) ", re.M)
# The checks that run under compute-sanitizer: one of each kernel and type.
ONCE = [name.format(type=kind) for kind in ("f32", "bf16") for name in (
    "gelu_tanh/{type}/12299", "gelu_erf/{type}/12299", "sum/{type}/12299",
    "attention/{type}/16/65_tokens", "attention/{type}/32/65_tokens", "attention/{type}/64/65_tokens",
    "attention/{type}/16/bias", "attention/{type}/32/dropout", "attention/{type}/64/bias_dropout",
    "boards_packed/{type}/5", "boards_i8/{type}/5", "boards_f32/{type}/5", "dropout/{type}/37x333",
    "images/patches/{type}", "images/pixels/{type}", "layer_norm/{type}/77x72",
    "layer_norm_residual/{type}/77x72", "layer_norm/{type}/77x1024", "loss_score/{type}",
    "loss_classes/{type}", "loss_cross_entropy/{type}", "pool_mean/{type}", "pool_position/{type}",
    "narrow_linear/{type}")]
# In bf16, 64 tokens have kernels of their own.
ONCE += [f"attention/bf16/{width}/64_tokens" for width in (16, 32, 64)]
ONCE += ["half/bf16", "half/fp16", "update_adamw/clipped"]


def list_checks(program):
    return processes.run([program, "--list"], 60).output.split()


def group_of(name):
    """Returns the prefix of the checks that run in one process with this one. Attention has many checks,
    so they run in several processes."""
    parts = name.split("/")
    if parts[0] != "attention":
        return parts[0] + "/" if len(parts) > 1 else name
    return "/".join(parts[:2]) + "/" if len(parts) > 2 else name


def groups(names):
    """Returns {prefix: its checks}, in order."""
    found = {}
    for name in names:
        found.setdefault(group_of(name), []).append(name)
    return found


def ending(ended):
    """Returns how a process that wrote no results, or only a part of them, ended."""
    if ended.code is None:
        how = f"no end within {ended.seconds:.0f} s"
    elif ended.code < 0:
        how = f"ended by {signal.Signals(-ended.code).name}"
    else:
        how = f"exit {ended.code}"
    return f"{how}: {processes.last_words(ended.output)}"


def check(program, prefix, stage, limit):
    """Returns (report of the checks with this prefix, None), or (None, how the process ended)."""
    with tempfile.TemporaryDirectory(prefix="penstock-checks-") as folder:
        file = pathlib.Path(folder) / "checks.json"
        ended = processes.run([program, "--check", prefix, "--json", file],
                              min(limit, stage.seconds_left()), stage.log)
        report = processes.json_of(file)
        return (None, ending(ended)) if report is None else (report, None)


def numbers(outcome):
    """Returns everything that is known about a failed comparison, in one line."""
    known = {name: "nan or inf" if value is None else value for name, value in outcome.items()}
    return ", ".join(f"{name} {value}" for name, value in known.items() if name != "passed")


class Checks:
    """Runs all checks, and collects their outcomes."""

    def __init__(self, program, stage):
        self.program, self.stage = program, stage
        self.outcomes, self.left_out = [], []

    def take(self, report):
        self.outcomes += report["checks"]
        self.left_out += report["left_out"]["checks"]
        for outcome in report["checks"]:
            if not outcome["passed"]:
                self.fail(outcome["check"], numbers(outcome))

    def fail(self, name, text):
        """Says a failure and the command that repeats it. The inputs of a check are always the same."""
        self.stage.fail(f"{text}; to repeat it: {self.program} --check {name}")

    def run_group(self, prefix, names):
        """Runs a group. If its process breaks, each of its checks runs by itself."""
        if self.stage.seconds_left() < 5:
            self.left_out += [{"name": name, "why": "out of time"} for name in names]
            return
        report, how = check(self.program, prefix, self.stage, GROUP_LIMIT)
        if report:
            self.take(report)
        elif len(names) == 1:
            self.outcomes.append({"check": names[0], "what": how, "passed": False})
            self.fail(names[0], f"check {names[0]}: {how}")
        else:
            self.stage.say(f"{prefix}: {how}; each of its {len(names)} checks now runs by itself")
            for name in names:
                self.run_group(name, [name])

    def run(self, wanted=""):
        names = [name for name in list_checks(self.program) if name.startswith(wanted)]
        if not names:
            self.stage.fail(f"no check begins with {wanted!r}")
        for prefix, members in groups(names).items():
            self.stage.begin(f"checks {prefix}")
            # A part of a group runs check by check: the group's prefix would run all.
            for key, part in ({name: [name] for name in members} if wanted else
                              {prefix: members}).items():
                self.run_group(key, part)
                self.stage.put(self.outcomes, "checks")
                self.stage.put(self.left_out, "left_out", "checks")
        failed = sum(not outcome["passed"] for outcome in self.outcomes)
        self.stage.say(f"{len(names)} checks, {len(self.outcomes)} comparisons, {failed} failed, "
                       f"{len(self.left_out)} left out")


def sanitize(tool, name, program, check_name, stage):
    """Returns what one tool of compute-sanitizer finds in one check."""
    if stage.seconds_left() < 5:
        return {"not_run": "out of time"}
    ended = processes.run([tool, "--tool", name, "--error-exitcode", FOUND_ERRORS, program, "--check",
                           check_name], min(SANITIZER_LIMIT, stage.seconds_left()), stage.log)
    refused = REFUSES.search(ended.output)
    summary = SUMMARY.search(ended.output)
    if refused or not summary:
        return {"not_run": (refused.group(0) if refused else ending(ended))[:300]}
    if ended.code == 0 and summary.group(1) == "0":
        return {"passed": True}
    errors = [line for line in ended.output.splitlines() if line.startswith("=====")]
    return {"failed": f"exit {ended.code}: " + " ".join(errors[:12])[:1000]}


def sanitize_all(tool, program, stage, names):
    """Runs each tool over one check of each kernel. If a tool refuses the first check, it runs no other."""
    for name in TOOLS:
        stage.begin(name)
        found = {names[0]: sanitize(tool, name, program, names[0], stage)}
        if "not_run" not in found[names[0]]:
            with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
                found |= zip(names[1:], pool.map(
                    lambda one, name=name: sanitize(tool, name, program, one, stage), names[1:]))
        passed = [one for one, result in found.items() if result.get("passed")]
        others = {one: result for one, result in found.items() if not result.get("passed")}
        stage.put(found, "sanitizer", name)
        for one, result in others.items():
            if "failed" in result:
                stage.fail(f"{name} {one}: {result['failed']}")
        why = next((result["not_run"] for result in others.values() if "not_run" in result), "")
        stage.say(f"{name}: {len(passed)} of {len(names)} checks without errors"
                  f"{f'; not run: {why}' if why else ''}")


def build(root, folder, target, stage):
    """Builds the kernels and their check and bench program with Ninja; returns the program's path."""
    cuda = "ON" if target == PROGRAM else "AUTO"
    for command in (["cmake", "-G", "Ninja", "-S", root, "-B", folder, "-DPENSTOCK_ONLY=kernels",
                     f"-DPENSTOCK_CUDA={cuda}"],
                    ["cmake", "--build", folder, "--target", target]):
        ended = processes.run(command, min(BUILD_LIMIT, stage.seconds_left()), stage.log)
        if ended.code != 0:
            raise RuntimeError(f"{command[0]} {command[1]}: {ending(ended)}")
    return pathlib.Path(folder) / "bin" / target


def program_of(contact):
    """Returns the packed check and bench program, or builds it."""
    packed = contact.setting.programs / PROGRAM
    if packed.exists():
        return packed
    contact.stage.begin("build of the kernels")
    contact.stage.say(f"there is no {packed}: building the kernels with Ninja")
    return build(contact.root, contact.state / "build",
                 "kernels_emulated" if contact.emulated else PROGRAM, contact.stage)


def run_checks(contact):
    stage, program = contact.stage, program_of(contact)
    Checks(program, stage).run(contact.wanted)
    tool = contact.compute_sanitizer()
    if not tool:
        stage.put({"not_run": "no compute-sanitizer in $PATH, $CUDA_HOME/bin or Python's packages"},
                  "sanitizer")
        stage.say("sanitizer: not run, because there is no compute-sanitizer")
        return
    sanitize_all(tool, program, stage,
                 [name for name in ONCE if name.startswith(contact.wanted)] or ONCE[:1])


def run_kernels(contact):
    """Measures the bandwidth of each kernel beside that of a copy."""
    stage, program = contact.stage, program_of(contact)
    file = contact.state / "benchmarks.json"
    file.unlink(missing_ok=True)
    stage.begin("benchmarks")
    ended = processes.run([program, "--bench", "--json", file],
                          min(BENCH_LIMIT, stage.seconds_left()), stage.log)
    found = processes.json_of(file)
    if found is None:
        stage.put({"failed": ending(ended)}, "benchmarks")
        stage.fail(f"benchmarks: {ending(ended)}")
        return
    stage.put(found["benchmarks"], "benchmarks")
    stage.put(found["left_out"]["benchmarks"], "left_out", "benchmarks")
    copy = found["benchmarks"][0]["gb_per_s"] if found["benchmarks"] else 0
    for one in found["benchmarks"]:
        stage.say(f"{one['benchmark']}: {one['gb_per_s']:.0f} GB/s, "
                  f"{100 * one['gb_per_s'] / copy:.0f} % of a copy")
