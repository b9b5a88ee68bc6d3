"""Tests TLS and tokens between real processes: both sides report what goes wrong."""

import json
import os
import pathlib
import resource
import signal
import socket
import time
import unittest

from certificates import Authority
from processes import TIMEOUT_S, ProcessTestCase, pause, run

TOKEN = "0123456789abcdef-right"
OTHER_TOKEN = "0123456789abcdef-other"


class SecurityTestCase(ProcessTestCase):
    def setUp(self):
        super().setUp()
        self.ca = Authority(self.folder, "ca")

    def tls_server(self, pem, key, *args):
        return self.start_server("--tls-cert", pem, "--tls-key", key, *args)

    def log_of(self, server):
        return pathlib.Path(server.log_path).read_text()

    def wait_for_log(self, server, *words):
        deadline = time.monotonic() + TIMEOUT_S
        while not all(word in self.log_of(server) for word in words):
            self.assertIsNone(server.poll(), self.log_of(server))
            self.assertLess(time.monotonic(), deadline, f"{words} not in\n{self.log_of(server)}")
            pause()

    def wait_for_count(self, server, text, count):
        deadline = time.monotonic() + TIMEOUT_S
        while self.log_of(server).count(text) < count:
            self.assertLess(time.monotonic(), deadline, f"{text!r} is not {count} times in\n"
                                                        f"{self.log_of(server)}")
            pause()

    def tls(self, *args, ca=None):
        return ["--tls", "--tls-ca", (ca or self.ca).pem, *args]

    def refused(self, server, *args, says):
        """Checks that the stream fails and that its output contains each of `says`."""
        address = server.address
        # A slow machine may not reach the cause within the first timeout.
        for timeout in ("2s", "10s", "60s"):
            result = run("penstock", *self.stream_args(address, "--server-timeout", timeout, *args))
            self.assertEqual(result.returncode, 1, result.stdout)
            if all(words in result.stderr for words in says):
                break
        for words in says:
            self.assertIn(words, result.stderr)
        self.assertIn(address, result.stderr)

    def write(self, name, text):
        """Replaces a file atomically, like a careful operator. Returns its path."""
        path, new = self.folder / name, self.folder / f"{name}.new"
        new.write_text(text)
        new.chmod(0o600)
        new.rename(path)
        return path


class TlsTest(SecurityTestCase):
    def test_tls_and_mutual_tls_stream_what_local_streams(self):
        local = self.stream("local:")["digest"]
        pem, key = self.ca.issue("server")
        client_pem, client_key = self.ca.issue("client", "DNS:client")
        server = self.tls_server(pem, key)
        self.assertEqual(self.stream(server.address, *self.tls())["digest"], local)
        mutual = self.tls_server(pem, key, "--tls-client-ca", self.ca.pem)
        args = self.tls("--tls-cert", client_pem, "--tls-key", client_key)
        self.assertEqual(self.stream(mutual.address, *args)["digest"], local)

    def test_the_name_of_the_certificate_may_be_given(self):
        server = self.tls_server(*self.ca.issue("server", "DNS:penstock.example"))
        self.refused(server, *self.tls(), says=["penstock.example", "127.0.0.1",
                                                "--tls-server-name"])
        self.wait_for_log(server, "tls handshake failed", "host name")
        self.stream(server.address, *self.tls("--tls-server-name", "penstock.example"))

    def test_wrong_ca(self):
        server = self.tls_server(*self.ca.issue("server"), "--log-level", "debug")
        other = Authority(self.folder, "other")
        self.refused(server, *self.tls(ca=other),
                     says=["signed by a CA", str(other.pem), "--tls-ca"])
        self.wait_for_log(server, "tls handshake begins peer=127.0.0.1:", "tls handshake failed",
                          "does not trust the CA")

    def test_the_systems_roots_do_not_know_our_ca(self):
        server = self.tls_server(*self.ca.issue("server"))
        self.refused(server, "--tls", says=["signed by a CA", "system's roots"])

    def test_expired_certificate(self):
        server = self.tls_server(*self.ca.issue("server", days=-1))
        self.refused(server, *self.tls(), says=["certificate expired on 20"])
        self.wait_for_log(server, "tls handshake failed", "expired: renew it")
        self.wait_for_log(server, "server.pem: the certificate expired on")

    def test_expired_ca(self):
        old = Authority(self.folder, "old", days=-1)
        server = self.tls_server(*old.issue("server"))
        self.refused(server, *self.tls(ca=old),
                     says=["CA CN = old, which signed", "expired on 20", f"in {old.pem}"])
        self.wait_for_log(server, "tls handshake failed", "or its CA's has expired: renew it")

    def test_expired_intermediate(self):
        old = Authority(self.folder, "old", days=-1, signed_by=self.ca)
        pem, key = old.issue("server")
        chain = self.write("chain.pem", pem.read_text() + old.pem.read_text())
        server = self.tls_server(chain, key)
        self.refused(server, *self.tls(),
                     says=["CA CN = old, which signed", "expired on 20",
                           "after the server's certificate"])

    def test_missing_client_certificate(self):
        server = self.tls_server(*self.ca.issue("server"), "--tls-client-ca", self.ca.pem)
        self.refused(server, *self.tls(), says=["wants a client certificate", "--tls-cert"])
        self.wait_for_log(server, "tls handshake failed", "the client sent no certificate")

    def test_client_certificate_of_a_stranger(self):
        server = self.tls_server(*self.ca.issue("server"), "--tls-client-ca", self.ca.pem)
        pem, key = Authority(self.folder, "stranger").issue("client", "DNS:client")
        self.refused(server, *self.tls("--tls-cert", pem, "--tls-key", key),
                     says=["refused this client's certificate", "--tls-client-ca"])
        self.wait_for_log(server, "tls handshake failed", "client's certificate is refused")

    def test_expired_client_certificate(self):
        server = self.tls_server(*self.ca.issue("server"), "--tls-client-ca", self.ca.pem)
        pem, key = self.ca.issue("client", "DNS:client", days=-1)
        self.refused(server, *self.tls("--tls-cert", pem, "--tls-key", key),
                     says=["client.pem: the certificate expired on"])
        self.wait_for_log(server, "tls handshake failed", "client's certificate is refused")

    def test_client_certificate_that_is_for_servers(self):
        server = self.tls_server(*self.ca.issue("server"), "--tls-client-ca", self.ca.pem)
        pem, key = self.ca.issue("client", "DNS:client", usage="serverAuth")
        self.refused(server, *self.tls("--tls-cert", pem, "--tls-key", key),
                     says=[f"{pem} is not for clients", "extendedKeyUsage", "clientAuth"])
        self.wait_for_log(server, "tls handshake failed", "extendedKeyUsage does not allow clients")

    def test_server_certificate_that_is_for_clients(self):
        server = self.tls_server(*self.ca.issue("server", usage="clientAuth"))
        self.refused(server, *self.tls(),
                     says=["certificate may not be used by servers", "extendedKeyUsage",
                           "serverAuth"])
        self.wait_for_log(server, "tls handshake failed", "extendedKeyUsage does not allow servers")

    def test_client_certificate_that_openssl_refuses(self):
        server = self.tls_server(*self.ca.issue("server"), "--tls-client-ca", self.ca.pem)
        pem, key = self.ca.issue("client", "DNS:client", rsa_bits=1024)
        args = self.tls("--tls-cert", pem, "--tls-key", key)
        says = "client.pem: OpenSSL refuses certificate 1: ee key too small"
        result = run("penstock", *self.stream_args(server.address, *args))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(says, result.stderr)
        top = run("penstock", "top", "--servers", server.address, "--once", "--json", "-", *args)
        self.assertEqual(top.returncode, 2, top.stderr)
        self.assertIn("--tls-cert, --tls-key: ", top.stderr)
        self.assertIn(says, top.stderr)

    def test_plain_client_on_a_tls_port(self):
        server = self.tls_server(*self.ca.issue("server"))
        self.refused(server, says=["the server speaks TLS", "--tls"])
        self.wait_for_log(server, "connection refused peer=127.0.0.1:", "speaks plaintext")
        self.top_until(lambda rows: "the server speaks TLS" in rows[0]["error"], server.address,
                       interval="1s")

    def test_tls_client_on_a_plain_port(self):
        server = self.start_server()
        self.refused(server, *self.tls(), says=["does not speak TLS"])
        self.wait_for_log(server, "connection refused peer=127.0.0.1:", "speaks TLS")

    def test_a_renewed_certificate_is_served_without_a_restart(self):
        server = self.tls_server(*self.ca.issue("server"))
        self.stream(server.address, *self.tls())
        new = Authority(self.folder, "new")
        new.issue("server")
        self.stream(server.address, *self.tls(ca=new))
        self.refused(server, *self.tls(), says=["signed by a CA"])
        self.wait_for_log(server, "tls files reloaded")

    def test_a_certificate_without_its_key_keeps_the_old_one(self):
        pem, key = self.ca.issue("server")
        server = self.tls_server(pem, key)
        other, _ = self.ca.issue("other")
        other.rename(pem)
        self.stream(server.address, *self.tls())
        self.wait_for_log(server, "keeping the previous", "is not the key of the certificate")

    def test_a_certificate_that_openssl_refuses_keeps_the_old_one(self):
        server = self.tls_server(*self.ca.issue("server"))
        self.stream(server.address, *self.tls())
        self.ca.issue("server", rsa_bits=1024)
        self.stream(server.address, *self.tls())
        self.wait_for_log(server, "keeping the previous",
                          "server.pem: OpenSSL refuses certificate 1: ee key too small")
        self.assertNotIn("tls files reloaded", self.log_of(server))

    def test_a_waiting_client_takes_the_new_ca(self):
        server = self.tls_server(*self.ca.issue("server"))
        given = self.write("given.pem", Authority(self.folder, "other").pem.read_text())
        client = self.spawn("penstock", *self.stream_args(
            server.address, "--tls", "--tls-ca", given, "--server-timeout", "100s"))
        self.wait_for_log(server, "does not trust the CA")
        self.write("given.pem", self.ca.pem.read_text())
        out, err = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 0, err)
        self.assertIn(self.stream("local:")["digest"], out)

    def test_a_renewed_client_ca_is_asked_without_a_restart(self):
        client_ca = self.write("client-ca.pem", self.ca.pem.read_text())
        server = self.tls_server(*self.ca.issue("server"), "--tls-client-ca", client_ca)
        new = Authority(self.folder, "new")

        def args(authority):
            pem, key = authority.issue(f"{authority.name}-client", "DNS:client")
            return self.tls("--tls-cert", pem, "--tls-key", key)
        old_args, new_args = args(self.ca), args(new)
        self.stream(server.address, *old_args)
        self.refused(server, *new_args, says=["refused this client's certificate"])
        self.write("client-ca.pem", new.pem.read_text())
        self.stream(server.address, *new_args)
        self.refused(server, *old_args, says=["refused this client's certificate"])
        self.wait_for_log(server, "tls files reloaded")

    def test_a_waiting_client_takes_its_new_certificate_and_key(self):
        server = self.tls_server(*self.ca.issue("server"), "--tls-client-ca", self.ca.pem)
        pem, key = Authority(self.folder, "stranger").issue("client", "DNS:client")
        client = self.spawn("penstock", *self.stream_args(
            server.address, *self.tls("--tls-cert", pem, "--tls-key", key),
            "--server-timeout", "100s"))
        self.wait_for_log(server, "client's certificate is refused")
        self.ca.issue("client", "DNS:client")
        out, err = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 0, err)
        self.assertIn(self.stream("local:")["digest"], out)

    def test_files_are_checked_at_the_start(self):
        pem, key = self.ca.issue("server")
        _, other_key = self.ca.issue("other")
        short, short_key = self.ca.issue("short", rsa_bits=1024)
        text = self.write("text.pem", "no certificate\n")
        for cert, its_key, says in ((self.folder / "none.pem", key, "none.pem"),
                                    (text, key, "text.pem: holds no PEM certificate"),
                                    (pem, text, "text.pem: holds no PEM private key"),
                                    (pem, other_key, "other.key: is not the key of"),
                                    (short, short_key, "short.pem: OpenSSL refuses certificate")):
            result = run("penstock-server", "--data-root", self.data, "--listen", "127.0.0.1:0",
                         "--tls-cert", cert, "--tls-key", its_key)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("penstock-server: --tls-cert, --tls-key: ", result.stderr)
            self.assertIn(says, result.stderr)
            result = run("penstock", *self.stream_args(
                "127.0.0.1:1", *self.tls("--tls-cert", cert, "--tls-key", its_key)))
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("--tls-cert, --tls-key: ", result.stderr)
            self.assertIn(says, result.stderr)

    def test_damage_behind_the_first_certificate_is_found_at_the_start(self):
        pem, key = self.ca.issue("server")
        good = self.ca.pem.read_text()
        bundle = self.write("bundle.pem", good + good.replace("\nMII", "\n!II"))
        says = "bundle.pem: certificate 2 cannot be read ("
        result = run("penstock-server", "--data-root", self.data, "--listen", "127.0.0.1:0",
                     "--tls-cert", pem, "--tls-key", key, "--tls-client-ca", bundle)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("--tls-cert, --tls-key, --tls-client-ca: ", result.stderr)
        self.assertIn(says, result.stderr)
        result = run("penstock", *self.stream_args("127.0.0.1:1", "--tls", "--tls-ca", bundle))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("--tls-ca: ", result.stderr)
        self.assertIn(says, result.stderr)

    def test_a_key_that_all_can_read_is_warned_of(self):
        pem, key = self.ca.issue("server")
        key.chmod(0o644)
        server = self.tls_server(pem, key)
        self.wait_for_log(server, "server.key: every user of this machine can read this key")


class TokenTest(SecurityTestCase):
    def setUp(self):
        super().setUp()
        self.tokens = self.write("tokens", f"# who may read\n{TOKEN}\n{OTHER_TOKEN} elsewhere\n")
        self.right = self.write("right", f"{TOKEN}\n")

    def start_reader(self, server, token_file):
        """Returns an endless stream that has rows."""
        ids = self.folder / f"{token_file.name}.ids"
        client = self.spawn("penstock", *self.stream_args(
            server.address, "--token-file", token_file, "--ids", ids, "--pace", 20000, epochs=0))
        while not ids.exists() or ids.stat().st_size == 0:
            self.assertIsNone(client.poll(), "the stream ended early")
            pause()
        return client

    def test_the_right_token_over_loopback_and_tls(self):
        local = self.stream("local:")["digest"]
        plain = self.start_server("--token-file", self.tokens)
        self.assertEqual(self.stream(plain.address, "--token-file", self.right)["digest"], local)
        tls = self.tls_server(*self.ca.issue("server"), "--token-file", self.tokens)
        self.assertEqual(self.stream(tls.address, *self.tls("--token-file", self.right))["digest"],
                         local)

    def test_missing_and_wrong_tokens(self):
        server = self.start_server("--token-file", self.tokens)
        self.refused(server, says=["wants a bearer token", "--token-file"])
        self.wait_for_log(server, "call refused peer=ipv4:127.0.0.1:", "none was sent")
        # The log has at most one line every 10 s for each cause, and this is another cause.
        wrong = self.write("wrong", f"{TOKEN}x\n")
        self.refused(server, "--token-file", wrong,
                     says=["is not among those", "put one of them into your own --token-file"])
        self.wait_for_log(server, "call refused peer=ipv4:127.0.0.1:", "is not among those")
        self.assertNotIn(TOKEN, self.log_of(server))

    def test_a_token_may_be_limited_to_roots(self):
        server = self.start_server("--token-file", self.tokens)
        limited = self.write("limited", f"{OTHER_TOKEN}\n")
        self.refused(server, "--token-file", limited, says=["token is limited", ".tfrecord"])
        self.wait_for_log(server, "window refused", ".tfrecord", "token is limited")
        shards = " ".join(shard.name for shard in self.data.glob("*.tfrecord"))
        self.write("tokens", f"{OTHER_TOKEN} {shards}\n")
        self.stream(server.address, "--token-file", limited)

    def test_top_shows_a_token_that_is_limited_to_folders_its_own_clients(self):
        server = self.start_server("--token-file", self.tokens)
        self.start_reader(server, self.right)

        def shown_to(token_file):
            [row] = self.top_until(lambda rows: rows[0]["state"] == "up", server.address,
                                   "--token-file", token_file)
            return row
        self.assertEqual(len(shown_to(self.right)["clients"]), 1)
        limited = shown_to(self.write("limited", f"{OTHER_TOKEN}\n"))
        self.assertEqual(limited["clients"], [])
        self.assertGreater(limited["memory_bytes"], 0)

    def test_no_token_travels_in_plaintext(self):
        # 192.0.2.0/24 belongs to nobody; nothing is sent there.
        result = run("penstock", *self.stream_args("192.0.2.1:7070", "--token-file", self.right))
        self.assertEqual(result.returncode, 1)
        for words in ("right", "plaintext", "192.0.2.1:7070", "--tls"):
            self.assertIn(words, result.stderr)
        result = run("penstock-server", "--data-root", self.data, "--listen", "0.0.0.0:0",
                     "--token-file", self.tokens, "--insecure")
        self.assertEqual(result.returncode, 2)
        self.assertIn("plaintext", result.stderr)

    def test_a_changed_token_needs_no_restart(self):
        server = self.start_server("--token-file", self.tokens)
        self.stream(server.address, "--token-file", self.right)
        self.write("tokens", f"{TOKEN}-new\n")
        new = self.write("new", f"{TOKEN}-new\n")
        self.stream(server.address, "--token-file", new)
        self.refused(server, "--token-file", self.right, says=["is not among those"])
        self.wait_for_log(server, "token file reloaded")

    def test_a_client_takes_a_changed_token_when_it_connects_again(self):
        address = self.reserve_address()
        server = self.start_server("--token-file", self.tokens, listen=address)
        given, ids = self.write("given", f"{TOKEN}\n"), self.folder / "ids"
        client = self.spawn("penstock", *self.stream_args(
            address, "--token-file", given, "--ids", ids, epochs=0))
        self.wait_for_ids(client, ids)
        self.write("given", f"{TOKEN}-new\n")
        self.write("tokens", f"{TOKEN}-new\n")
        server.kill()
        server.wait()
        again = self.start_server("--token-file", self.tokens, listen=address)
        self.wait_for_count(again, "client connected", 1)
        self.wait_for_ids(client, ids)
        client.send_signal(signal.SIGINT)
        _, err = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 128 + signal.SIGINT, err)

    def test_streams_end_when_their_token_is_taken_back(self):
        server = self.start_server("--token-file", self.tokens)
        renewed, revoked = (self.start_reader(server, self.write(name, f"{TOKEN}\n"))
                            for name in ("renewed", "revoked"))
        self.write("renewed", f"{TOKEN}-new\n")
        self.write("tokens", f"{TOKEN}-new\n")
        _, err = revoked.communicate(timeout=TIMEOUT_S)
        self.assertEqual(revoked.returncode, 1, err)
        self.assertIn("is not among those", err)
        # The other stream was opened with the old token too, and it reconnects.
        self.wait_for_count(server, "its token was revoked", 2)
        self.wait_for_count(server, "client connected", 3)
        self.assertIsNone(renewed.poll(), "the stream ended with its old token")
        renewed.terminate()
        renewed.communicate(timeout=TIMEOUT_S)
        self.assertEqual(renewed.returncode, 143)

    def test_a_broken_token_file_keeps_the_old_tokens(self):
        server = self.start_server("--token-file", self.tokens)
        self.write("tokens", "short\n")
        self.stream(server.address, "--token-file", self.right)
        self.wait_for_log(server, "keeping the previous tokens", "line 1")
        self.write("tokens", "")
        self.stream(server.address, "--token-file", self.right)

    def test_a_clients_file_without_a_token_is_wrong_usage(self):
        for path in (self.folder / "none", self.write("empty", "# no token\n")):
            for command in (["penstock", "stream", self.manifest], ["penstock", "top", "--once"],
                            ["penstock-train", "--manifest", self.manifest]):
                result = run(*command, "--servers", "127.0.0.1:1", "--token-file", path)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(f"--token-file: {path}: ", result.stderr)

    def test_a_wrong_token_file_is_an_error_at_the_start(self):
        for text, says in (("", "no token"), (f"{TOKEN} /etc\n", "line 1"), ("abc\n", "line 1")):
            path = self.write("bad", text)
            result = run("penstock-server", "--data-root", self.data, "--listen", "127.0.0.1:0",
                         "--token-file", path)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(says, result.stderr)
            self.assertIn("bad", result.stderr)


class DescriptorTest(SecurityTestCase):
    def start_endless(self, server):
        """Returns a stream at a trainer's pace, and a function that waits until it reads more."""
        ids = self.folder / "ids"
        client = self.spawn("penstock", *self.stream_args(
            server.address, "--ids", ids, "--pace", 20_000, epochs=0))

        def num_rows():
            self.assertIsNone(client.poll(), "the stream ended early")
            return ids.read_bytes().count(b"\n") if ids.exists() else 0

        def wait_for_rows(at_least=0):
            begin, deadline = num_rows(), time.monotonic() + TIMEOUT_S
            while num_rows() <= max(begin, at_least):
                self.assertLess(time.monotonic(), deadline, "the stream stands still")
                pause()
        return client, wait_for_rows

    def test_a_server_without_descriptors_says_so_and_recovers(self):
        server = self.start_server()
        client, wait_for_rows = self.start_endless(server)
        wait_for_rows(at_least=25_000)  # This is more than an epoch, so all its files are open.
        used = len(os.listdir(f"/proc/{server.pid}/fd"))
        limit = used + 60
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (limit, limit))
        host, port = server.address.rsplit(":", 1)
        crowd = [socket.create_connection((host, int(port)), timeout=60) for _ in range(limit)]
        self.wait_for_log(server, "out of descriptors", f"limit={limit}", "LimitNOFILE")
        wait_for_rows()
        for connection in crowd:
            connection.close()
        self.stream(server.address)
        wait_for_rows()
        # The client that was there before the crowd has noticed nothing.
        client.send_signal(signal.SIGINT)
        out, err = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 128 + signal.SIGINT, err)
        across = json.loads(out)
        self.assertEqual([found["stream_breaks"] for found in across["servers"]], [0])
        quiet = self.stream("local:", "--steps", across["steps"], epochs=0)
        self.assertEqual(across["digest"], quiet["digest"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
