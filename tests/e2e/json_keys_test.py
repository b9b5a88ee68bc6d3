"""Tests that docs/reference/json_output.md lists the keys of --json."""

import json
import os
import pathlib
import re
import unittest

from processes import ProcessTestCase, run

PAGE = pathlib.Path(os.environ["PENSTOCK_DEPLOY"]).parent / "docs/reference/json_output.md"


def keys_of(value, prefix=""):
    """Returns the keys of an object and of the objects in it, as the page writes them."""
    if isinstance(value, dict):
        return {prefix + key for key in value}.union(
            *(keys_of(item, f"{prefix}{key}.") for key, item in value.items()))
    if isinstance(value, list):
        return set().union(*(keys_of(item, f"{prefix[:-1]}[].") for item in value))
    return set()


def listed_keys(command):
    """Returns the keys in the first column of the command's tables."""
    section = re.search(rf"^## {command}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)[1]
    rows = re.findall(r"^\| (`.*?) \|", section, re.M)
    return {key for row in rows for key in re.findall(r"`([^`]+)`", row)}


class JsonKeysTest(ProcessTestCase):
    def assert_listed(self, command, text, missing=()):
        """`missing`: keys that this data or these options do not give."""
        found = keys_of(json.loads(text))
        self.assertEqual(found - listed_keys(command), set(), f"{command}: not in {PAGE.name}")
        optional = {key for key in listed_keys(command) - found
                    if any(re.match(pattern, key) for pattern in missing)}
        self.assertEqual(listed_keys(command) - found - optional, set(), f"{command} does not print")

    def result(self, program, *args):
        done = run(program, *args, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_commands_that_read_a_dataset(self):
        self.assert_listed("penstock index", self.result(
            "penstock", "index", self.data, "-o", self.folder / "again.pb"), [r"damage\["])
        self.assert_listed("penstock inspect", self.result("penstock", "inspect", self.manifest))
        self.assert_listed("penstock which", self.result(
            "penstock", "which", self.manifest, "--global-batch-size", 4, "--step", 0))
        table = self.folder / "table.csv"
        table.write_text("a,b\n1,2\n")
        self.assert_listed("penstock pack", self.result(
            "penstock", "pack", table, "-o", self.folder / "packed"))

    def test_commands_that_read_from_servers(self):
        server = self.start_server()
        servers = ("--servers", server.address)
        self.assert_listed("penstock stream", self.result(
            "penstock", "stream", self.manifest, *servers, "--steps", 2, "--digest",
            "--digest-by-record"))
        self.assert_listed("penstock bench", self.result(
            "penstock", "bench", self.manifest, *servers, "--seconds", 0.1))
        self.spawn("penstock", "stream", self.manifest, *servers, "--epochs", 0, "--pace", 1000,
                   "--global-batch-size", 64)
        while not json.loads(self.top(servers))["servers"][0]["clients"]:
            continue
        self.assert_listed("penstock top", self.top(servers), [r"servers\[\]\.problem$"])

    def top(self, servers):
        return self.result("penstock", "top", *servers, "--once", "--interval", "200ms")

    def test_a_size(self):
        self.assert_listed("penstock size", self.result(
            "penstock", "size", "--rows-per-second", 20e6, "--server-cpu", 0.1, "--record-bytes",
            100, "--records", 1e9))

    def test_a_training(self):
        events = self.folder / "events.jsonl"
        text = self.result("penstock-train", "--manifest", self.manifest, "--servers", "local:",
                           "--steps", 2, "--global-batch-size", 64, "--device", "cpu",
                           "--events", events)
        only_events = set(json.loads(events.read_text().splitlines()[0])) - set(json.loads(text))
        self.assert_listed("penstock-train", json.dumps(
            {**json.loads(text), **{key: 0 for key in only_events}}),
            [r"holdout_(accuracy|top5)", "best_", "holdout_"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
