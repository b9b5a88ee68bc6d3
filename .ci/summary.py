#!/usr/bin/env python3
"""Prints what ./check ran: for each file of ctest's results how many tests there were, how many
.ci/baseline.txt expects, and which were skipped, with the reason.

    .ci/summary.py RESULTS.xml...              the file's name without .xml is the stage
    .ci/summary.py --write RESULTS.xml...      also writes these numbers to .ci/baseline.txt

Single tests are counted: a suite of GoogleTest or a file of unittest counts as all that are in it.
Fewer tests than expected are no error, because a machine without nvcc or the test data has fewer.
The last line has the form "N passed, N failed, N skipped". The exit code is 1 if a test failed.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree

BASELINE = pathlib.Path(__file__).with_name("baseline.txt")
HEAD = "# Tests of each stage of ./check; `.ci/summary.py --write build/check/*.xml` writes this file.\n"
# How GoogleTest and unittest report how many tests they ran, and why they skipped some.
COUNTS = re.compile(r"^(?:\[=+\] (\d+) tests? from \d+ test suites? ran|Ran (\d+) tests? in )", re.M)
GTEST_SKIPPED = re.compile(r": Skipped\n(.*)$", re.M)
UNITTEST_SKIPPED = re.compile(r"\bskipped (['\"])(.*)\1$", re.M)
SCRIPT_SKIPPED = re.compile(r"^.*\bskipped\b.*$", re.M | re.I)


class Test:
    """A test of ctest: a suite of GoogleTest, a file of unittest, or a program."""

    def __init__(self, case):
        output = case.findtext("system-out") or ""
        self.name = case.get("name")
        counts = [int(one or other) for one, other in COUNTS.findall(output)]
        self.count = sum(counts) or 1
        self.reasons = GTEST_SKIPPED.findall(output)
        self.reasons += [reason for _, reason in UNITTEST_SKIPPED.findall(output)]
        skipped = case.find("skipped")
        # ctest calls a program that is not there skipped too.
        missing = skipped is not None and not skipped.get("message", "").startswith("SKIP")
        self.failed = missing or case.find("failure") is not None
        if skipped is not None and not missing and not self.reasons:
            found = SCRIPT_SKIPPED.search(output)
            self.reasons = [found.group().strip() if found else "no reason given"] * self.count
        # unittest counts a test with several skipped subtests once.
        self.skipped = 0 if self.failed else min(len(self.reasons), self.count)


def read_baseline():
    if not BASELINE.exists():
        return {}
    rows = (line.split() for line in BASELINE.read_text().splitlines() if line[:1] not in ("", "#"))
    return {stage: int(count) for stage, count in rows}


def compare(count, expected):
    if expected is None:
        return "not in .ci/baseline.txt"
    if count < expected:
        return f"{expected - count:,} FEWER than .ci/baseline.txt"
    return f"{count - expected:,} more than .ci/baseline.txt" if count > expected else "as in .ci/baseline.txt"


def print_skipped(tests):
    """Prints each reason once, with the tests that it holds for."""
    for reason in dict.fromkeys(reason for test in tests for reason in test.reasons):
        names = ", ".join(f"{test.name} ({test.reasons.count(reason)} of {test.count})"
                          for test in tests if reason in test.reasons)
        print(f"    skipped: {names}: {reason}")


def main(arguments):
    write = arguments[:1] == ["--write"]
    baseline = read_baseline()
    passed = failed = skipped = 0
    for path in map(pathlib.Path, arguments[write:]):
        tests = [Test(case) for case in xml.etree.ElementTree.parse(path).iter("testcase")]
        count = sum(test.count for test in tests)
        print(f"  {path.stem:<14} {count:>6,} tests, {compare(count, baseline.get(path.stem))}")
        print_skipped(tests)
        baseline[path.stem] = count
        bad = sum(test.failed for test in tests)
        gone = sum(test.skipped for test in tests)
        passed, failed, skipped = passed + count - bad - gone, failed + bad, skipped + gone
    if write:
        BASELINE.write_text(HEAD + "".join(f"{stage} {count}\n" for stage, count in baseline.items()))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
