"""Tests server:PATH, with programs that have no file of the data, not even its manifest."""

import json
import shutil
import unittest

from certificates import Authority
from processes import SAMPLE, run
from rank_runs import RanksTestCase, newest, numbers

TOKEN = "0123456789abcdef-right"


class ServedManifestTest(RanksTestCase):
    def setUp(self):
        super().setUp()
        self.empty = self.folder / "empty"
        self.empty.mkdir()

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def stream_of(self, manifest, servers, *args):
        """Returns the output of `penstock stream` on `manifest`, run in an empty folder."""
        args = ["stream", manifest, *self.stream_args(servers, *args)[2:]]
        return json.loads(self.check_run("penstock", *args, cwd=self.empty).stdout)

    def refused(self, program, *args, code=1, says=()):
        result = run(program, *args, cwd=self.empty)
        self.assertEqual(result.returncode, code, result.stderr)
        for words in says:
            self.assertIn(words, result.stderr)

    def test_stream_which_and_bench_read_what_local_reads(self):
        server = self.start_server()
        port = server.address.rsplit(":", 1)[1]
        local = self.stream("local:")["digest"]
        for servers in (server.address, f"file:{self.address_files}", f"dns:///localhost:{port}"):
            self.assertEqual(self.stream_of("server:manifest.pb", servers)["digest"], local)
        which = ["--servers", server.address, "--seed", 7, "--step", 3]
        self.assertEqual(self.check_run("penstock", "which", "server:", *which).stdout,
                         self.check_run("penstock", "which", self.manifest, *which).stdout)
        self.check_run("penstock", "bench", "server:", "--servers", server.address, "--seconds",
                       "0.2", cwd=self.empty)

    def test_shards_are_beside_the_manifest_wherever_that_is(self):
        local = self.stream("local:")["digest"]
        below = self.data / "below"
        below.mkdir()
        for path in self.data.iterdir():
            if path != below:
                path.rename(below / path.name)
        server = self.start_server()
        ids = self.folder / "ids"
        read = self.stream_of("server:below/manifest.pb", server.address, "--ids", ids)
        self.assertEqual(read["digest"], local)
        self.assertTrue(ids.read_text().startswith("below/"), ids.read_text()[:80])

    def test_a_server_that_is_gone_is_passed_over(self):
        gone, server = sorted((self.start_server(), self.start_server()),
                              # The client asks them in this order.
                              key=lambda server: server.address)
        gone.kill()
        servers = f"{gone.address},{server.address}"
        args = self.stream_args(servers, epochs=1)[2:]
        result = self.check_run("penstock", "stream", "server:manifest.pb", *args)
        self.assertIn(f"server:manifest.pb came from {server.address}; not from {gone.address}: ",
                      result.stderr)

    def test_each_server_is_named_with_its_cause(self):
        gone, server = self.start_server(), self.start_server()
        gone.kill()
        self.refused("penstock", "stream", "server:none.pb", "--servers", server.address,
                     says=[f"server:none.pb: {server.address}: none.pb: No such file"])
        self.refused("penstock", "stream", "server:none.pb", "--servers",
                     f"{gone.address},{server.address}", "--server-timeout", "500ms",
                     says=["no server could be used for 500ms", f"{gone.address}: Failed to connect",
                           f"{server.address}: none.pb: No such file"])

    def test_what_cannot_be_is_wrong_usage(self):
        for program, *args in (("penstock", "stream", "server:manifest.pb"),
                               ("penstock", "which", "server:manifest.pb", "--step", "0"),
                               ("penstock-train", "--manifest", "server:manifest.pb", "--servers",
                                "local:")):
            self.refused(program, *args, code=2,
                         says=["is a path on servers, but --servers is local:"])
        self.refused("penstock", "stream", "server:/data/manifest.pb", "--servers", "a:1", code=2,
                     says=["relative to the servers' --data-root"])

    def test_a_training_needs_the_servers_alone(self):
        authority = Authority(self.folder, "ca")
        pem, key = authority.issue("server")
        server = self.start_server("--tls-cert", pem, "--tls-key", key, "--token-file",
                                   self.write("tokens", TOKEN + "\n"))
        self.end_well(self.start_ranks(1, "--checkpoint-dir", self.folder / "local"))
        self.end_well(self.start_ranks(
            2, "--checkpoint-dir", self.folder / "served", "--tls", "--tls-ca", authority.pem,
            "--token-file", self.write("token", TOKEN + "\n"),
            servers=server.address, manifest=lambda rank: "server:manifest.pb"))
        self.assertEqual(numbers(newest(self.folder / "served")),
                         numbers(newest(self.folder / "local")))

    def test_ranks_that_were_given_two_manifests_say_so(self):
        first = self.start_server()
        self.data = self.folder / "changed"
        shutil.copytree(SAMPLE, self.data)
        # Index other records, even if the sample already has a manifest from README's commands.
        self.check_run("penstock", "index", self.data, "--holdout", 0)
        second = self.start_server()
        # Each rank starts with another server of the same set.
        ranks = self.start_ranks(2, servers=",".join(sorted([first.address, second.address])),
                                 manifest=lambda rank: "server:manifest.pb")
        for rank in ranks:
            self.assertEqual(rank.wait(), 1, rank.out)
            self.assertIn("manifest", rank.err)
            self.assertIn("than rank 0", rank.err)


if __name__ == "__main__":
    unittest.main()
