"""Tests the metrics of Loaders: served by their feeds, and as the text of penstock.metrics()."""

import re
import unittest
import urllib.request

import penstock
import real_data
from penstock.prometheus import merge


def scrape(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as page:
        return page.read().decode()


def value(page, name):
    return float(re.search(rf"^{re.escape(name)} (\S+)$", page, re.MULTILINE)[1])


class MergeTest(unittest.TestCase):
    def test_samples_of_a_metric_come_together(self):
        page = ("# HELP a_total Of a.\n# TYPE a_total counter\na_total 1\na_total{x=\"y z\"} 2\n"
                "# HELP process_x Of the process.\n# TYPE process_x gauge\nprocess_x 3\n")
        self.assertEqual(merge([(0, page), (3, page)]), (
            "# HELP a_total Of a.\n# TYPE a_total counter\n"
            'a_total{loader="0"} 1\na_total{loader="0",x="y z"} 2\n'
            'a_total{loader="3"} 1\na_total{loader="3",x="y z"} 2\n'))

    def test_no_page_is_empty(self):
        self.assertEqual(merge([]), "")
        self.assertEqual(merge([(0, "")]), "")


class MetricsTest(real_data.RealDataTestCase):
    def test_the_feed_serves_what_the_consumer_read_and_waited(self):
        loader = self.load(metrics_port=0, epochs=1)
        rows = sum(batch.rows for batch in loader)
        page = scrape(loader.metrics_address)
        self.assertEqual(value(page, "penstock_client_rows_total"), rows)
        self.assertEqual(value(page, "penstock_client_batch_wait_seconds_count"), len(loader))
        # No server is needed any more, and none is missing.
        self.assertEqual(value(page, "penstock_client_servers_named"), 0)
        self.assertEqual(value(page, "penstock_client_servers_connected"), 0)
        self.assertAlmostEqual(value(page, "penstock_client_wait_seconds_total"),
                               loader.stats()["wait_seconds"], delta=1)

    def test_a_loader_that_reads_is_connected(self):
        loader = self.load(metrics_port=0)
        next(iter(loader))
        page = scrape(loader.metrics_address)
        self.assertEqual(value(page, "penstock_client_servers_named"), 1)
        self.assertEqual(value(page, "penstock_client_servers_connected"), 1)

    def test_metrics_are_off_unless_asked_for(self):
        self.assertIsNone(self.load().metrics_address)

    def test_the_text_has_all_open_loaders(self):
        before = penstock.metrics()
        first, second = self.load(), self.load(seed=3)
        next(iter(first)), next(iter(second))
        page = penstock.metrics()
        numbers = [loader._stream.number for loader in (first, second)]
        for number in numbers:
            self.assertGreater(value(page, f'penstock_client_rows_total{{loader="{number}"}}'), 0)
        self.assertEqual(page.count("# TYPE penstock_client_rows_total counter\n"), 1)
        self.assertNotIn("process_", page)
        self.assertNotIn("metrics", first.stats()["feed"])
        first.close(), second.close()
        self.assertEqual(penstock.metrics(), before)

    def test_a_new_feed_may_take_another_free_port(self):
        loader = self.load(metrics_port=0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        loader._stream._feed.process.kill()
        loader._stream._feed.process.wait()
        loader.load_state_dict(state)
        next(batches)
        self.assertIn("penstock_client_rows_total", scrape(loader.metrics_address))

    def test_ranks_of_a_machine_take_ports_in_a_row(self):
        with self.assertRaisesRegex(ValueError, "metrics_port.*70001.*65535"):
            self.load(metrics_port=70000, rank=3, world_size=4, local_size=2)
        with self.assertRaisesRegex(ValueError, "metrics_listen.*70001"):
            self.load(metrics_listen="127.0.0.1:70000", rank=3, world_size=4, local_size=2)


if __name__ == "__main__":
    unittest.main()
