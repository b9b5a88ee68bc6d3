"""Tests that the Kubernetes set is valid by the schemas of its API, consistent, and fits the
programs."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
RULES = ROOT / "deploy/prometheus/penstock.rules.yml"
VERSION = "1.31"

# The packages of .ci/requirements.txt are in a virtual environment.
PYTHON = ROOT / "build" / "python" / "bin" / "python3"
if PYTHON.exists() and pathlib.Path(sys.prefix) != PYTHON.parents[1]:
    os.execv(PYTHON, [str(PYTHON), *sys.argv])

try:
    import kubernetes_validate
    import yaml
except ImportError:
    kubernetes_validate = None

sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from certificates import Authority  # noqa: E402
from metrics_test import NAME, names_in, scrape  # noqa: E402
from processes import TIMEOUT_S, ProcessTestCase, run  # noqa: E402
from servers import wait_until  # noqa: E402

needs_yaml = unittest.skipIf(kubernetes_validate is None,
                             "kubernetes-validate is not installed: run .ci/python.sh")


def documents():
    """Yields (file name, resource) for everything except kustomization.yaml, which is not an API
    resource."""
    for path in sorted(FOLDER.glob("*.yaml")):
        if path.name == "kustomization.yaml":
            continue
        for document in yaml.safe_load_all(path.read_text()):
            yield path.name, document


def resource(kind, name):
    return next(d for _, d in documents() if d["kind"] == kind and d["metadata"]["name"] == name)


def pod(kind, name):
    return resource(kind, name)["spec"]["template"]


def pods():
    return [pod("StatefulSet", "penstock-server"), pod("Job", "penstock-train"),
            pod("Job", "penstock-ranks")]


def container(template):
    return template["spec"]["containers"][0]


def listening_ports(args):
    return {int(found[1]) for found in
            (re.fullmatch(r"--[a-z-]*listen=0\.0\.0\.0:(\d+)", arg) for arg in args) if found}


def check_health(test, address, service):
    """Asks like the kubelet's gRPC probe; the answer must be SERVING."""
    name = service.encode()
    message = (b"\x0a" + bytes([len(name)]) + name) if name else b""
    answer = subprocess.run(
        ["curl", "-sS", "--http2-prior-knowledge", "--data-binary", "@-",
         "-H", "content-type: application/grpc", "-H", "te: trailers",
         f"http://{address}/grpc.health.v1.Health/Check"],
        input=b"\0" + len(message).to_bytes(4, "big") + message, stdout=subprocess.PIPE,
        timeout=TIMEOUT_S, check=True).stdout
    test.assertEqual(answer, b"\0\0\0\0\2\x08\1", service)


@needs_yaml
class SchemaTest(unittest.TestCase):

    def test_every_resource_holds_to_its_schema(self):
        found = list(documents())
        self.assertGreater(len(found), 8)
        for name, document in found:
            if document["apiVersion"].startswith("monitoring.coreos.com/"):
                continue  # A resource of the Prometheus Operator, whose schema is not part of the API.
            with self.subTest(file=name, kind=document["kind"]):
                kubernetes_validate.validate(document, VERSION, strict=True)

    def test_a_misspelt_field_is_found(self):
        budget = resource("PodDisruptionBudget", "penstock-server")
        budget["spec"]["maxUnavailabel"] = budget["spec"].pop("maxUnavailable")
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(budget, VERSION, strict=True)


@needs_yaml
class ConsistencyTest(unittest.TestCase):

    def test_kustomization_lists_files_that_exist(self):
        listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
        self.assertIn("server.yaml", listed)
        for name in listed:
            self.assertTrue((FOLDER / name).exists(), name)

    def test_ports_that_are_listened_on_are_those_that_others_use(self):
        for template in pods():
            ports = {port["name"]: port["containerPort"] for port in container(template)["ports"]}
            self.assertEqual(listening_ports(container(template)["args"]), set(ports.values()))
            annotations = template["metadata"]["annotations"]
            self.assertEqual(int(annotations["prometheus.io/port"]), ports["metrics"])
        server = container(pods()[0])
        ports = {port["name"]: port["containerPort"] for port in server["ports"]}
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertEqual(server[probe]["grpc"]["port"], ports["health"])
        for port in resource("Service", "penstock")["spec"]["ports"]:
            self.assertEqual(port["port"], ports[port["targetPort"]])
        for rule in resource("NetworkPolicy", "penstock-server")["spec"]["ingress"]:
            for port in rule["ports"]:
                self.assertIn(port["port"], ports)

    def test_trainers_ask_for_the_name_of_the_headless_service(self):
        service = resource("Service", "penstock")["spec"]
        self.assertEqual(service["clusterIP"], "None")
        self.assertEqual(resource("StatefulSet", "penstock-server")["spec"]["serviceName"],
                         "penstock")
        grpc = next(port["port"] for port in service["ports"] if port["name"] == "grpc")
        self.assertIn(f"--servers=dns:///penstock:{grpc}",
                      container(pod("Job", "penstock-train"))["args"])

    def test_selectors_select_the_servers(self):
        labels = pod("StatefulSet", "penstock-server")["metadata"]["labels"]
        for selector in (
                resource("Service", "penstock")["spec"]["selector"],
                resource("StatefulSet", "penstock-server")["spec"]["selector"]["matchLabels"],
                resource("PodDisruptionBudget", "penstock-server")["spec"]["selector"]["matchLabels"],
                resource("NetworkPolicy", "penstock-server")["spec"]["podSelector"]["matchLabels"]):
            self.assertLessEqual(selector.items(), labels.items())
        target = resource("HorizontalPodAutoscaler", "penstock-server")["spec"]["scaleTargetRef"]
        self.assertEqual((target["kind"], target["name"]), ("StatefulSet", "penstock-server"))

    def test_trainers_may_reach_the_servers(self):
        rule = resource("NetworkPolicy", "penstock-server")["spec"]["ingress"][0]
        wanted = rule["from"][0]["podSelector"]["matchLabels"]
        self.assertLessEqual(wanted.items(),
                             pod("Job", "penstock-train")["metadata"]["labels"].items())

    def test_volumes_are_there(self):
        for template in pods():
            volumes = {volume["name"] for volume in template["spec"]["volumes"]}
            self.assertEqual(volumes, {m["name"] for m in container(template)["volumeMounts"]})

    def test_files_that_options_name_are_mounted(self):
        for template in pods():
            mounts = [mount["mountPath"] for mount in container(template)["volumeMounts"]]
            paths = [arg.split("=")[1] for arg in container(template)["args"] if "=/" in arg]
            self.assertGreater(len(paths), 2)
            for path in paths:
                self.assertTrue(any(path.startswith(mount) for mount in mounts), path)

    def test_a_trainer_that_is_drained_costs_no_retry(self):
        job = resource("Job", "penstock-train")["spec"]
        self.assertEqual(job["template"]["spec"]["restartPolicy"], "Never")
        rules = job["podFailurePolicy"]["rules"]
        self.assertEqual({rule["action"] for rule in rules}, {"Ignore"})
        conditions = [c["type"] for rule in rules for c in rule.get("onPodConditions", [])]
        self.assertEqual(conditions, ["DisruptionTarget"])
        codes = next(rule["onExitCodes"] for rule in rules if "onExitCodes" in rule)
        self.assertEqual(codes["containerName"], container(job["template"])["name"])
        self.assertIn(f"--stopped-exit-code={codes['values'][0]}",
                      container(job["template"])["args"])

    def test_images_have_a_version(self):
        for template in pods():
            spec = template["spec"]
            for one in spec["containers"] + spec.get("initContainers", []):
                self.assertRegex(one["image"], r":\d+\.\d+\.\d+$")

    def test_a_rolling_restart_waits_for_the_dns_and_trainers_wait_longer(self):
        dns_seconds = 30
        ready_seconds = resource("StatefulSet", "penstock-server")["spec"]["minReadySeconds"]
        self.assertGreater(ready_seconds, dns_seconds)
        for template in pods()[1:]:
            timeout = next(a for a in container(template)["args"] if "--server-timeout=" in a)
            self.assertGreater(60 * int(timeout.split("=")[1].rstrip("m")), 2 * dns_seconds)

    def test_readiness_needs_the_data_and_life_does_not(self):
        server = container(pods()[0])
        self.assertIn("--require=manifest.pb", server["args"])
        self.assertNotIn("service", server["readinessProbe"]["grpc"])
        for probe in ("startupProbe", "livenessProbe"):
            self.assertEqual(server[probe]["grpc"]["service"], "liveness")

    def test_ranks_are_as_many_as_the_job_has_pods_and_meet_at_the_first(self):
        job = resource("Job", "penstock-ranks")["spec"]
        spec = job["template"]["spec"]
        env = {e["name"]: e.get("value") for e in spec["containers"][0]["env"]}
        self.assertEqual(job["completionMode"], "Indexed")
        self.assertEqual(job["completions"], job["parallelism"])
        self.assertEqual(env["WORLD_SIZE"], str(job["completions"]))
        service = resource("Service", spec["subdomain"])["spec"]
        self.assertEqual(env["MASTER_ADDR"], f"penstock-ranks-0.{spec['subdomain']}")
        self.assertTrue(service["publishNotReadyAddresses"])
        self.assertEqual(service["selector"], {"batch.kubernetes.io/job-name": "penstock-ranks"})

    def test_monitors_find_what_is_served(self):
        for kind, name, endpoints, template in (
                ("ServiceMonitor", "penstock-server", "endpoints", pods()[0]),
                ("PodMonitor", "penstock-trainer", "podMetricsEndpoints", pods()[1])):
            spec = resource(kind, name)["spec"]
            self.assertLessEqual(spec["selector"]["matchLabels"].items(),
                                 template["metadata"]["labels"].items())
            ports = {port["name"] for port in container(template)["ports"]}
            self.assertLessEqual({e["port"] for e in spec[endpoints]}, ports)

    def test_kubernetes_waits_longer_than_the_grace(self):
        spec = pod("StatefulSet", "penstock-server")["spec"]
        grace = next(a for a in container(pods()[0])["args"] if a.startswith("--grace="))
        self.assertGreater(spec["terminationGracePeriodSeconds"], int(grace[8:].rstrip("s")))


@needs_yaml
class ProgramsTest(ProcessTestCase):
    """Runs the programs with the options of the manifests; only hosts, ports and folders differ."""

    def setUp(self):
        super().setUp()
        for name in ("tls", "token", "checkpoints"):
            (self.folder / name).mkdir()
        authority = Authority(self.folder / "tls", "ca")
        authority.pem.rename(self.folder / "tls" / "ca.crt")
        authority.pem = self.folder / "tls" / "ca.crt"
        pem, key = authority.issue("tls", "DNS:penstock")
        pem.rename(pem.with_suffix(".crt"))
        self.write_tokens("0123456789abcdef-mine")

    def write_tokens(self, token):
        """Writes the secret as the kubelet mounts it, with this token instead of "replace-me"."""
        for name, text in resource("Secret", "penstock-token")["stringData"].items():
            path = self.folder / "token" / name
            path.write_text(text.replace("replace-me", token))
            path.chmod(0o400)

    def args(self, template, **replaced):
        """Returns the container's arguments for this machine, with `replaced` values of options."""
        def here(arg):
            name, _, value = arg.partition("=")
            value = replaced.get(name.strip("-").replace("-", "_"), value)
            value = re.sub(r"^0\.0\.0\.0:\d+$", "127.0.0.1:0", value)
            value = re.sub(r"^/", f"{self.folder}/", value)
            return f"{name}={value}" if value else name
        return [here(arg) for arg in container(template)["args"]]

    def start(self):
        """Starts a server with the options of its pod."""
        server = self.make_server(*(arg for arg in self.args(pods()[0])
                                    if not arg.startswith("--listen=")))
        server.start()
        return server.wait_serving()

    def logged(self, server, event):
        """Returns the fields of an event once it is in the log, which is JSON."""
        def found():
            lines = [line for line in server.log().splitlines(keepends=True) if line.endswith("\n")]
            return [fields for fields in map(json.loads, lines) if fields["event"] == event]
        return wait_until(found, f"{event} in {server.log_path}")[0]

    def test_a_training_reads_from_a_server_by_name(self):
        server = self.start()
        port = server.address.rsplit(":", 1)[1]
        result = run("penstock-train", *self.args(
            pods()[1], servers=f"dns:///localhost:{port}", epochs="1"), "--steps", 2, "--device", "cpu")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(list((self.folder / "checkpoints").iterdir()))

    def test_the_token_must_be_replaced(self):
        self.write_tokens("replace-me")
        result = run("penstock-server", "--data-root", self.data, *self.args(pods()[0]))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("the token has 10 characters", result.stderr)

    def test_probes_are_answered(self):
        server = self.start()
        address = self.logged(server, "health")["address"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            check_health(self, address, container(pods()[0])[probe]["grpc"].get("service", ""))

    def test_the_adapter_asks_for_metrics_that_are_served(self):
        server = self.start()
        served = names_in(scrape(self.logged(server, "metrics")["address"]))
        reader = self.spawn("penstock", "stream", self.manifest, "--epochs", 0, "--pace", 1000,
                            "--metrics-port", 0)
        line = next(line for line in reader.stderr if "metrics on" in line)
        served |= names_in(scrape(re.search(r"http://([0-9.:]+)/", line)[1]))
        asked = {name for rule in adapter_rules() for key in ("seriesQuery", "metricsQuery")
                 for name in NAME.findall(rule[key])}
        self.assertGreater(len(asked), 2)
        self.assertLessEqual(asked, served)


def adapter_rules():
    adapter = yaml.safe_load(resource("ConfigMap", "prometheus-adapter")["data"]["config.yaml"])
    return adapter["rules"] + adapter["externalRules"]


# Returns the seconds per minute of a pod for ten minutes, in promtool's notation of a series.
def series(metric, labels, share):
    return {"series": f'{metric}{{namespace="n",{labels}}}', "values": f"0+{60 * share:g}x10"}


def consumption_of_the_dashboard():
    panels = json.loads((ROOT / "deploy/grafana/penstock.json").read_text())["panels"]
    panel = next(panel for panel in panels if panel["title"] == "Consumption / capacity")
    return panel["targets"][0]["expr"].replace("$__rate_interval", "1m")


@needs_yaml
@unittest.skipUnless(shutil.which("promtool"), "needs Debian's package prometheus")
class ScalingTest(unittest.TestCase):
    """Evaluates the adapter's queries, the recorded series and the dashboard with Prometheus
    itself."""

    def setUp(self):
        self.rules = []
        for rule in adapter_rules():
            expression = rule["metricsQuery"].replace("<<.LabelMatchers>>", 'namespace="n"')
            self.rules.append({"record": rule["name"]["as"],
                               "expr": expression.replace("<<.GroupBy>>", "pod")})

    def promtool(self, series_of_time, expected):
        """Fails unless each metric or expression has these samples ({labels: value}) after ten
        minutes."""
        def name(expression):
            return expression if re.fullmatch(r"[a-z_:]+", expression) else ""
        tests = [{"expr": expression, "eval_time": "10m", "exp_samples": [
            {"labels": name(expression) + labels, "value": value}
            for labels, value in samples.items()]} for expression, samples in expected.items()]
        with tempfile.TemporaryDirectory() as folder:
            rules, test = pathlib.Path(folder, "rules.yml"), pathlib.Path(folder, "test.yml")
            rules.write_text(yaml.safe_dump({"groups": [{"name": "adapter", "rules": self.rules}]}))
            test.write_text(yaml.safe_dump({
                "rule_files": [str(rules), str(RULES)], "evaluation_interval": "1m",
                "tests": [{"interval": "1m", "input_series": series_of_time,
                           "promql_expr_test": tests}]}))
            done = subprocess.run(["promtool", "test", "rules", str(test)], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stdout)

    def servers(self, *loads, cpu=0):
        """Returns the series of servers with 4 cores and threads. The threads are busy for these
        shares of their time, and each server uses the share `cpu` of its cores."""
        found = []
        for number, load in enumerate(loads):
            found.append(series("process_cpu_seconds_total", f'pod="s{number}"', 4 * cpu))
            found.append({"series": f'penstock_server_cores{{namespace="n",pod="s{number}"}}',
                          "values": "4x10"})
            for activity in ("load", "decode"):
                found.append(series("penstock_server_engine_busy_seconds_total",
                                    f'pod="s{number}",activity="{activity}"', 4 * load / 2))
            found.append(series("penstock_server_engine_capacity_seconds_total",
                                f'pod="s{number}"', 4))
        return found

    def trainers(self, *waits):
        """Returns the series of ranks that wait for these shares of their time, and use any number
        of cores."""
        return [series(metric, f'pod="t{number}"', share) for number, wait in enumerate(waits)
                for metric, share in (("penstock_client_wait_seconds_total", wait),
                                      ("process_cpu_seconds_total", 16))]

    def test_each_servers_consumption_is_divided_by_its_capacity(self):
        self.promtool(self.servers(0.25, 0.75), {"penstock_server_utilisation": {
            '{pod="s0"}': 0.25, '{pod="s1"}': 0.75}})

    def test_a_server_is_as_busy_as_its_threads_or_its_cores(self):
        for name, load, cpu in (("gRPC and TLS take the CPU", 0.25, 0.9375),
                                ("threads wait for slow storage", 0.9375, 0.125)):
            with self.subTest(name):
                self.promtool(self.servers(load, load, cpu=cpu) + self.trainers(0.9375), {
                    "penstock_server_utilisation": {'{pod="s0"}': 0.9375, '{pod="s1"}': 0.9375},
                    "penstock_client_speedup_wanted": {"{}": 2},
                    "penstock:server_utilisation": {"{}": 0.9375},
                    consumption_of_the_dashboard(): {"{}": 0.9375}})
        target = resource("HorizontalPodAutoscaler", "penstock-server")["spec"]["metrics"][0]
        self.assertEqual(target["pods"]["target"]["averageValue"], "700m")

    def test_the_rank_that_waits_longest_says_how_much_faster_it_could_be(self):
        self.promtool(self.servers(1, 1) + self.trainers(0.125, 0.25),
                      {"penstock_client_speedup_wanted": {"{}": 4 / 3}})

    def test_a_fleet_doubles_at_most(self):
        self.promtool(self.servers(1) + self.trainers(0.875),
                      {"penstock_client_speedup_wanted": {"{}": 2}})

    def test_nothing_is_wanted_where_servers_would_not_help(self):
        for name, found in {"trainers hardly wait": self.servers(1) + self.trainers(0.0625),
                            "servers are idle": self.servers(0.25) + self.trainers(0.5),
                            "no training runs": self.servers(0)}.items():
            with self.subTest(name):
                self.promtool(found, {"penstock_client_speedup_wanted": {"{}": 0}})

    def test_the_autoscaler_looks_at_what_the_adapter_makes(self):
        made = {rule["record"] for rule in self.rules}
        metrics = resource("HorizontalPodAutoscaler", "penstock-server")["spec"]["metrics"]
        asked = {metric[metric["type"].lower()]["metric"]["name"] for metric in metrics}
        self.assertEqual(asked, made)


if __name__ == "__main__":
    unittest.main()
