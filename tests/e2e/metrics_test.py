"""Tests real processes' metrics with a real Prometheus, the dashboard and the alert rules."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from certificates import Authority
from processes import TIMEOUT_S, ProcessTestCase, die_with_parent, pause, run

DEPLOY = pathlib.Path(os.environ["PENSTOCK_DEPLOY"])
DASHBOARD = DEPLOY / "grafana/penstock.json"
RULES = DEPLOY / "prometheus/penstock.rules.yml"
RULE_TESTS = DEPLOY / "prometheus/penstock.rules_test.yml"
RUNBOOK = DEPLOY.parent / "docs/guides/alerts.md"
REFERENCE = DEPLOY.parent / "docs/reference/metrics.md"
NAME = re.compile(r"\b(?:penstock|process)_[a-z0-9_]+\b")
RECORDED = re.compile(r"\bpenstock:[a-z0-9_]+\b")


def scrape(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=TIMEOUT_S) as page:
        return page.read().decode()


def names_in(page):
    """Returns the names of the series, which are several for a histogram."""
    names = set(re.findall(r"^# TYPE (\S+) ", page, re.MULTILINE))
    histograms = re.findall(r"^# TYPE (\S+) histogram$", page, re.MULTILINE)
    return names | {name + end for name in histograms for end in ("_bucket", "_sum", "_count")}


def dashboard_expressions():
    return [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"]
            for target in panel["targets"]]


def rule_expressions():
    """Returns the lines of `expr:` and those folded under it. Relies on the file's layout, without
    a YAML parser."""
    expressions, lines = [], RULES.read_text().splitlines()
    for number, line in enumerate(lines):
        if not line.strip().startswith("expr:"):
            continue
        indent = len(line) - len(line.lstrip())
        text = [line.split("expr:")[1].replace(">-", "")]
        for more in lines[number + 1:]:
            if more.strip() and len(more) - len(more.lstrip()) <= indent:
                break
            text.append(more)
        expressions.append(" ".join(part.strip() for part in text))
    return expressions


def reference_names(text):
    """Returns names and meanings of the tables in docs/reference/metrics.md, by heading."""
    sections = re.split(r"^## (.*)$", text, flags=re.MULTILINE)[1:]
    return {title: re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", body, re.MULTILINE)
            for title, body in zip(sections[::2], sections[1::2])}


class MetricsTestCase(ProcessTestCase):
    def metrics_address(self, server):
        def logged():  # The server may serve rows before it logs this.
            return re.search(r"metrics address=\"?([0-9.:]+)\"?\s", server.log())
        return self.until("the address of the server's metrics", logged)[1]

    def start_reader(self, server, *options):
        """Starts an endless stream at a trainer's pace. Returns it and its metrics' address."""
        reader = self.spawn("penstock", "stream", self.manifest, "--servers", server.address,
                            "--epochs", 0, "--global-batch-size", 64, "--pace", 20000,
                            "--metrics-port", 0, *options)
        return reader, self.told_metrics_address(reader)

    def told_metrics_address(self, program):
        for line in program.stderr:
            found = re.search(r"metrics on http://([0-9.:]+)/metrics", line)
            if found:
                return found[1]
        self.fail("the program did not say where its metrics are")

    def pages_of_all_programs(self):
        """Returns the pages of a server and a reader with certificates, and of a trainer."""
        ca = Authority(self.folder, "ca")
        pem, key = ca.issue("server")
        server = self.start_server("--metrics-port", 0, "--tls-cert", pem, "--tls-key", key,
                                   "--tls-client-ca", ca.pem)
        own_pem, own_key = ca.issue("client", days=3)
        _, reader = self.start_reader(server, "--tls", "--tls-ca", ca.pem, "--tls-cert", own_pem,
                                      "--tls-key", own_key)
        trainer = self.spawn("penstock-train", "--manifest", self.manifest, "--servers", "local:",
                             "--epochs", 100000, "--global-batch-size", 64, "--device", "cpu",
                             "--checkpoint-dir", self.folder / "checkpoints", "--metrics-port", 0,
                             stdout=subprocess.DEVNULL)
        address = self.told_metrics_address(trainer)
        self.until("a step", lambda: re.search(r"^penstock_trainer_step [1-9]", scrape(address), re.M))
        return scrape(self.metrics_address(server)), scrape(reader), scrape(address)

    def until(self, what, look):
        """Returns the result of `look` once it is true."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            found = look()
            if found:
                return found
            self.assertLess(time.monotonic(), deadline, what)
            pause()

    def promtool(self, *args, text=None):
        done = subprocess.run(["promtool", *map(str, args)], input=text, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout


class MetricsTest(MetricsTestCase):
    def test_the_pages_name_what_dashboard_and_rules_ask_for(self):
        served = {"up"}.union(*map(names_in, self.pages_of_all_programs()))
        recorded = set(re.findall(r"record: (\S+)", RULES.read_text()))
        expressions = dashboard_expressions() + rule_expressions()
        self.assertGreater(len(expressions), 20)
        for expression in expressions:
            self.assertLessEqual(set(NAME.findall(expression)), served, expression)
            self.assertLessEqual(set(RECORDED.findall(expression)), recorded, expression)

    def test_the_reference_says_of_each_metric_what_the_pages_say(self):
        pages = "".join(self.pages_of_all_programs())
        reference = REFERENCE.read_text().replace("`--on-error replace`", "--on-error replace")
        served = dict(re.findall(r"^# HELP (\S+) (.*)$", pages, re.MULTILINE))
        listed = {}
        for title, names in reference_names(reference).items():
            prefix = {"Servers": "penstock_server_", "Clients": "penstock_client_",
                      "Training": "penstock_trainer_", "Processes": ""}[title]
            listed.update({prefix + name: text for name, text in names})
        self.assertEqual(listed, served)

    def test_pages_say_when_certificates_expire(self):
        server, reader, trainer = self.pages_of_all_programs()
        for page, program, days in [(server, "server", 30), (reader, "client", 3)]:
            name = f"penstock_{program}_certificate_expiry_timestamp_seconds"
            left = float(re.search(rf"^{name} (\S+)$", page, re.M)[1]) - time.time()
            self.assertAlmostEqual(left / 86400, days, delta=0.1)
        self.assertNotIn("certificate", trainer)

    def test_each_alert_has_a_test_and_a_section_that_says_what_to_do(self):
        rules, tests = RULES.read_text(), RULE_TESTS.read_text()
        alerts = re.findall(r"- alert: (\w+)$", rules, re.M)
        self.assertGreater(len(alerts), 10)
        self.assertCountEqual(re.findall(r"^## (Penstock\w+)$", RUNBOOK.read_text(), re.M), alerts)
        urls = re.findall(r"runbook_url: https://docs\.example\.com/penstock/guides/alerts\.html#(\w+)$",
                          rules, re.M)
        self.assertEqual(urls, [alert.lower() for alert in alerts])
        for alert in alerts:
            fires = rf'labels: .ALERTS{{alertname="{alert}", alertstate="firing"'
            self.assertRegex(tests, fires)

    def test_the_server_counts_what_the_client_received(self):
        server = self.start_server("--metrics-port", 0)
        result = self.stream(server.address)
        rows = f"penstock_server_rows_sent_total {result['servers'][0]['rows']}\n"
        self.until("rows sent", lambda: rows in scrape(self.metrics_address(server)))
        page = scrape(self.metrics_address(server))
        self.assertIn("penstock_server_streams_opened_total 1\n", page)
        self.assertNotIn(str(self.data), page)

    def test_handshakes_that_fail_are_counted(self):
        ca = Authority(self.folder, "ca")
        pem, key = ca.issue("server")
        server = self.start_server("--metrics-port", 0, "--tls-cert", pem, "--tls-key", key)

        def failed():
            page = scrape(self.metrics_address(server))
            return int(re.search(r"^penstock_server_handshakes_failed_total (\d+)$", page, re.M)[1])
        self.stream(server.address, "--tls", "--tls-ca", ca.pem)
        self.assertEqual(failed(), 0)
        other = Authority(self.folder, "other").pem
        for args in (["--tls", "--tls-ca", other], []):  # A wrong CA, then no TLS.
            before = failed()
            self.spawn("penstock", *self.stream_args(server.address, "--server-timeout", "600s",
                                                     *args))
            self.until("a failed handshake", lambda: failed() > before)

    def test_a_metrics_port_in_use_is_named(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            result = run("penstock-server", "--data-root", self.data, "--listen", "127.0.0.1:0",
                         "--metrics-port", port)
        self.assertEqual(result.returncode, 1)
        self.assertIn("--metrics-port", result.stderr)
        self.assertIn(str(port), result.stderr)


@unittest.skipUnless(shutil.which("prometheus") and shutil.which("promtool"),
                     "needs Debian's package prometheus")
class PrometheusTest(MetricsTestCase):
    def start_prometheus(self, targets):
        config = self.folder / "prometheus.yml"
        jobs = "".join(f"  - job_name: {job}\n    static_configs: [{{targets: ['{address}']}}]\n"
                       for job, address in targets.items())
        config.write_text("global: {scrape_interval: 500ms, scrape_timeout: 500ms, "
                          "evaluation_interval: 500ms}\n"
                          f"rule_files: ['{RULES}']\nscrape_configs:\n{jobs}")
        self.promtool("check", "config", config)
        for attempt in range(5):  # Another process may take the free port before Prometheus does.
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.api = f"http://127.0.0.1:{probe.getsockname()[1]}"
            log = open(self.folder / f"prometheus{attempt}.log", "w+")
            self.addCleanup(log.close)
            process = subprocess.Popen(
                ["prometheus", f"--config.file={config}", "--log.level=warn",
                 f"--storage.tsdb.path={self.folder / f'tsdb{attempt}'}",
                 f"--web.listen-address={self.api.removeprefix('http://')}"],
                stdout=log, stderr=log, preexec_fn=die_with_parent)
            self.addCleanup(self._end, process)
            if self.until("Prometheus to be ready",
                          lambda: "ended" if process.poll() is not None else self.is_ready()) != "ended":
                return
        self.fail(log.read())

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"{self.api}/-/ready", timeout=TIMEOUT_S) as answer:
                return answer.status == 200
        except OSError:
            return False

    def query(self, expression):
        """Returns the values of an instant query, sorted by their labels."""
        url = f"{self.api}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
                result = json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            self.fail(f"{expression}: {error.read().decode()}")
        return [float(sample["value"][1]) for sample in result]

    def test_pages_and_rules_pass_promtool(self):
        for page in self.pages_of_all_programs():
            self.assertEqual(self.promtool("check", "metrics", text=page), "")
        self.promtool("check", "rules", RULES)

    def test_the_alerts_fire_where_they_must(self):
        self.promtool("test", "rules", RULE_TESTS)

    def test_prometheus_scrapes_a_server_and_a_reader(self):
        server = self.start_server("--metrics-port", 0)
        reader, reader_metrics = self.start_reader(server)
        self.start_prometheus({"server": self.metrics_address(server), "reader": reader_metrics})
        self.until("both to be scraped", lambda: self.query("up") == [1, 1])
        self.until("rows sent", lambda: self.query("rate(penstock_server_rows_sent_total[1m]) > 0"))
        self.until("rows received",
                   lambda: self.query("sum(rate(penstock_client_server_rows_total[1m])) > 0"))
        self.assertEqual(self.query("sum(penstock_client_server_checksum_failures_total)"), [0])
        self.assertEqual(self.query("penstock_server_windows_damaged_total"), [0])
        busy = self.until("the signal", lambda: self.query("penstock:server_utilisation > 0"))
        self.assertLessEqual(busy[0], 1.1)  # Rates are extrapolated.
        waits = self.until("the wait share", lambda: self.query("penstock:client_wait_share"))
        self.assertLessEqual(waits[0], 1.1)
        for expression in dashboard_expressions() + rule_expressions():
            filled = expression.replace("$__rate_interval", "1m").replace("$instance", ".*")
            self.query(filled)  # Fails if Prometheus cannot parse it.
        self.assertIsNone(reader.poll())

    def test_what_the_engine_does_not_do_counts_too(self):
        server = self.start_server("--metrics-port", 0)
        self.start_prometheus({"server": self.metrics_address(server)})
        # Nobody reads data; the server only answers Prometheus.
        self.until("the signal", lambda: self.query("penstock:server_utilisation > 0"))
        self.assertEqual(self.query("penstock:server_engine_share"), [0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
