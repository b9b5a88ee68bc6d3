"""The stage `tests` of bench/gpu/contact: runs each test of trainer_gpu_test in a process of its own, so
that a test that breaks the device does not affect the others."""
import processes
from checks import ending

PROGRAM = "trainer_gpu_test"
LIMIT = 60  # Time limit of one test in seconds.


def list_tests(program, wanted):
    """Returns the full names of the program's tests that match `wanted`, a filter of GoogleTest."""
    listed = processes.run([program, "--gtest_list_tests", f"--gtest_filter={wanted or '*'}"], 60)
    names, suite = [], ""
    for line in listed.output.splitlines():
        if line.startswith("  "):
            names.append(suite + line.split("#")[0].strip())
        elif line.endswith("."):
            suite = line
    return names


def run_test(program, name, stage):
    if stage.seconds_left() < 3:
        return {"left_out": "out of time"}
    ended = processes.run([program, f"--gtest_filter={name}"], min(LIMIT, stage.seconds_left()),
                          stage.log)
    seconds = {"seconds": round(ended.seconds, 1)}
    if ended.code != 0 or "[  PASSED  ] " not in ended.output:
        # The lines between the test's begin and end have the file, the values and the tolerance.
        said = ended.output.partition("[ RUN      ]")[2].partition("[  FAILED  ]")[0].strip()
        return {"failed": (said or ending(ended))[:2000], **seconds}
    if "[  SKIPPED ]" in ended.output:
        return {"skipped": processes.last_words(
            ended.output.partition("[ RUN      ]")[2].partition("[  SKIPPED ]")[0], 300), **seconds}
    return {"passed": True, **seconds}


def run(contact):
    stage, program = contact.stage, contact.setting.programs / PROGRAM
    if not program.exists():
        stage.put({"left_out": f"no {program}: bench/gpu/pack builds it"}, "tests")
        stage.say(f"tests: left out, there is no {program}")
        return
    names = list_tests(program, contact.wanted)
    if not names:
        stage.fail(f"{PROGRAM} has no test {contact.wanted}")
    for name in names:
        stage.begin(name)
        found = run_test(program, name, stage)
        stage.put(found, "tests", name)
        if "failed" in found:
            stage.fail(f"{name}: {found['failed']}")
        else:
            stage.say(f"{name}: {found}")
