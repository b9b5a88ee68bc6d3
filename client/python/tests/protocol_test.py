"""Tests the communication with a feed: messages, starting, waiting, errors, and the feed's end."""

import collections
import functools
import inspect
import logging
import os
import signal
import threading
import time
import unittest
from unittest import mock

import fake_case
import fake_feed
import penstock
from penstock import _protocol as protocol
from penstock._feed import describe_end
from penstock._waits import Waits
from penstock.errors import from_status
from penstock.verdict import judge


def read(loader):
    """Returns the "x" of an epoch, one list for each batch."""
    return [batch["x"].tolist() for batch in loader]


def interrupt_once(stream, path):
    """Raises KeyboardInterrupt instead of the first call of a method of `stream`."""
    *owners, name = path.split(".")
    owner = functools.reduce(getattr, owners, stream)
    original = getattr(owner, name)
    calls = iter([KeyboardInterrupt])

    def call(*arguments, **keywords):
        for error in calls:
            raise error
        return original(*arguments, **keywords)

    return mock.patch.object(owner, name, call)


class ParserTest(unittest.TestCase):
    def parse(self, *pieces, generation=1):
        parser, batches, messages = protocol.Parser(), collections.deque(), []
        for piece in pieces:
            messages += parser.parse(piece, generation, batches)
        return list(batches), messages

    def batch(self, generation=1, **fields):
        return fake_feed.record(protocol.BATCH, generation, **fields)

    def test_reads_all_fields_of_an_announcement(self):
        data = self.batch(slot=2, flags=1, step=3, epoch=4, position=5, first_row=6, rows=7,
                          global_rows=8, end_epoch=9, end_position=1 << 40)
        self.assertEqual(self.parse(data)[0], [(2, 1, 2, 1, 3, 4, 5, 6, 7, 8, 9, 1 << 40)])

    def test_bytes_may_be_cut_anywhere(self):
        text = b'{"a": 1}'
        data = self.batch(step=0) + fake_feed.record(protocol.STATS, 1, rows=len(text)) + text
        data += self.batch(step=1)
        for cut in range(len(data) + 1):
            batches, messages = self.parse(data[:cut], data[cut:])
            self.assertEqual([batch[protocol.STEP] for batch in batches], [0, 1])
            self.assertEqual([message.json() for message in messages], [{"a": 1}])

    def test_announcements_of_other_generations_are_void(self):
        batches, _ = self.parse(self.batch(1) + self.batch(2) + self.batch(3), generation=2)
        self.assertEqual([batch[protocol.GENERATION] for batch in batches], [2])

    def test_kinds_that_are_unknown_are_passed_over(self):
        data = fake_feed.record(77, 1, rows=3) + b"abc" + self.batch()
        batches, messages = self.parse(data)
        self.assertEqual((len(batches), messages[0].kind), (1, 77))


class StartTest(fake_case.FakeFeedTestCase):
    def test_fetching_begins_with_the_first_batch(self):
        loader = self.load()
        time.sleep(0.05)
        self.assertEqual(self.requests(), [])
        next(iter(loader))
        self.assertEqual(self.requests(protocol.START), [[1, 1, {"cursor": "", "slots": 4, "step": 0}]])

    def test_the_memory_has_room_for_all_slots(self):
        loader = self.load({"slots": 6})
        next(iter(loader))
        ((_, size),) = self.requests("memory")
        self.assertEqual(size, 6 * 128)

    def test_a_state_before_the_start_is_where_it_begins(self):
        loader = self.load()
        loader.load_state_dict({"version": 1, "cursor": f"ps1-{fake_feed.FINGERPRINT}-2-8"})
        batch = next(iter(loader))
        self.assertEqual((batch.epoch, batch.position), (2, 8))
        self.assertEqual(len(self.requests(protocol.START)), 1)

    def test_a_state_after_the_start_makes_older_announcements_void(self):
        loader = self.load({"stale": 1, "slots": 8})
        batches = iter(loader)
        state = [next(batches) and loader.state_dict() for _ in range(3)][0]
        loader.load_state_dict(state)
        self.assertEqual(next(batches)["x"].tolist(), [4, 5, 6, 7])
        self.assertEqual([start[1] for start in self.requests(protocol.START)], [1, 2])

    def test_memory_that_is_held_is_not_used_again(self):
        loader = self.load()
        held = next(iter(loader))
        loader.load_state_dict(loader.state_dict())
        later = [next(iter(loader)).copy() for _ in range(8)]
        self.assertEqual(held["x"].tolist(), [0, 1, 2, 3])
        self.assertEqual(len(self.requests("memory")), 2)
        del held, later
        loader.load_state_dict(loader.state_dict())
        next(iter(loader))
        self.assertEqual(len(self.requests("memory")), 2)

    def test_another_version_is_refused(self):
        with self.assertRaisesRegex(penstock.FeedError, "has version 9.9.9"):
            self.load({"version": "9.9.9"})

    def test_states_of_others_are_refused(self):
        loader = self.load()
        for state in [{}, {"version": 2, "cursor": f"ps1-{fake_feed.FINGERPRINT}-0-0"},
                      {"version": 1, "cursor": "ps1-00000000000000ff-0-0"},
                      {"version": 1, "cursor": "nonsense"}]:
            with self.subTest(state), self.assertRaises(ValueError):
                loader.load_state_dict(state)


class EpochsTest(fake_case.FakeFeedTestCase):
    def test_one_for_is_one_epoch(self):
        loader = self.load({"steps": 3})
        for epoch in range(3):
            self.assertEqual(loader.epoch, epoch)
            self.assertEqual(read(loader), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
        self.assertEqual(loader.state_dict()["cursor"], f"ps1-{fake_feed.FINGERPRINT}-2-12")

    def test_a_for_that_was_left_is_continued(self):
        loader = self.load({"steps": 3})
        for batch in loader:
            break
        self.assertEqual(read(loader), [[4, 5, 6, 7], [8, 9, 10, 11]])

    def test_after_the_last_epoch_there_is_nothing(self):
        loader = self.load({"steps": 2, "epochs": 1})
        self.assertEqual(len(read(loader)), 2)
        self.assertEqual(read(loader), [])

    def test_an_iterator_that_has_ended_stays_so(self):
        batches = iter(self.load({"steps": 1}))
        next(batches)
        self.assertEqual(list(batches), [])
        self.assertEqual(list(batches), [])

    def test_a_short_batch_has_fewer_rows(self):
        loader = self.load({"steps": 2, "short": 3}, record_ids=True)
        *_, last = loader
        self.assertEqual((last.rows, last["planes"].shape), (3, (3, 2, 1, 3)))
        self.assertEqual(last.record_ids.tolist(), [4, 5, 6])

    def test_the_epoch_of_a_state_at_the_end_is_the_next(self):
        loader = self.load({"steps": 2})
        read(loader)
        state = loader.state_dict()
        self.assertEqual(loader.epoch, 1)
        other = self.load({"steps": 2})
        other.load_state_dict(state)
        self.assertEqual(other.epoch, 1)

    def test_the_epoch_goes_on_until_its_short_step_was_taken(self):
        loader = self.load({"steps": 3, "short": 2}, remainder="short")
        epochs = [(loader.epoch, batch.epoch) for batch in loader]
        self.assertEqual(epochs, [(0, 0), (0, 0), (1, 0)])

    def test_rows_that_are_dropped_end_the_epoch(self):
        loader = self.load({"steps": 3, "short": 2}, remainder="drop")
        batches = iter(loader)
        self.assertEqual([next(batches) and loader.epoch for _ in range(2)], [0, 1])

    def test_remaining_counts_the_steps_of_the_next_for(self):
        for remainder, expected in (("short", [3, 2, 1]), ("carry", [3, 2, 1]), ("drop", [2, 1, 3])):
            loader = self.load({"steps": 3, "short": 2}, remainder=remainder)
            batches = iter(loader)
            counts = [loader.remaining] + [next(batches) and loader.remaining for _ in range(2)]
            self.assertEqual(counts, expected, remainder)
        state = {"version": 1, "cursor": f"ps1-{fake_feed.FINGERPRINT}-2-8"}
        loader = self.load({"steps": 5, "epochs": 3}, epochs=3)
        loader.load_state_dict(state)
        self.assertEqual((loader.remaining, len(loader)), (3, 5))
        self.assertEqual(len(read(loader)), 3)
        self.assertEqual(loader.remaining, 0)
        limited = self.load({"steps": 5}, max_steps=2)
        limited.load_state_dict(state)
        self.assertEqual(limited.remaining, 2)
        next(iter(limited))
        self.assertEqual(limited.map(lambda batch, rng: batch).remaining, 1)

    def test_state_after_a_batch_is_that_of_the_batch(self):
        loader = self.load()
        batches = iter(loader)
        first, _ = next(batches), next(batches)
        self.assertEqual(loader.state_dict(after=first)["cursor"], first.cursor)
        self.assertNotEqual(loader.state_dict(), loader.state_dict(after=first))

    def test_evaluation_begins_again_each_time(self):
        loader = penstock.evaluate_loader(self.dataset(steps=3, epochs=1, short=2), rank=0,
                                          world_size=1)
        self.addCleanup(loader.close)
        whole = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        self.assertEqual(read(loader), whole)
        for batch in loader:
            break
        self.assertEqual(read(loader), whole)


class WaitingTest(fake_case.FakeFeedTestCase):
    def test_waiting_is_said_only_before_blocking(self):
        loader = self.load({"only_waited": 1})
        self.assertEqual(len(read(loader)), 10)
        self.assertEqual([value for _, _, value in self.requests(protocol.WAITING)], [*range(10)])

    def test_batches_that_are_there_are_not_waited_for(self):
        loader = self.load({"slots": 64, "steps": 40})
        batches = iter(loader)
        next(batches)
        time.sleep(1)
        rest = sum(1 for _ in batches)
        self.assertEqual(rest, 39)
        self.assertLessEqual(loader.stats()["waits"], 1)

    def test_a_slow_consumer_does_not_wait(self):
        loader = self.load({"slots": 16, "steps": 60})
        for _ in loader:
            time.sleep(0.02)
        waited = loader.verdict()
        self.assertLess(waited.waiting, 0.01)
        self.assertEqual(waited.bound, "compute")

    def test_first_batches_are_counted_apart(self):
        waits = Waits()
        self.assertEqual(str(judge(waits, [])), "too early to tell what limits this rank")
        waits.starts, waits.first_seconds, waits._elapsed = 1, 1.44, 2.0
        self.assertEqual(str(judge(waits, [])), "compute-bound: first batch 1.4 s, then 0.0 % of 2 s "
                                                "waiting for batches")
        waits.starts, waits.seconds = 3, 1.0
        verdict = judge(waits, [])
        self.assertEqual((verdict.bound, verdict.starts, verdict.first_batches), ("input", 3, 1.44))
        self.assertIn("input-bound: 3 first batches 1.4 s, then 50.0 % of 2 s", str(verdict))

    def test_a_slow_feed_is_waited_for(self):
        loader = self.load({"deaf": 0.3})
        next(iter(loader))
        self.assertRegex(str(loader.verdict()), "^too early to tell .*, first batch [0-9.]+ s$")
        stats = loader.stats()
        self.assertGreater(stats["first_batch_seconds"], 0.25)
        self.assertEqual(stats["wait_seconds"], 0)

    def test_stats_have_what_was_handed_out_and_what_the_feed_says(self):
        loader = self.load()
        batch = next(iter(loader))
        stats = loader.stats()
        self.assertEqual((stats["batches"], stats["rows"], stats["bytes"]), (1, 4, 4 * 14))
        self.assertEqual((stats["slots"], stats["held"]), (4, 1))
        self.assertEqual(stats["feed"]["rows"], 16)
        self.assertEqual(stats["replaced"], 5)
        del batch
        self.assertEqual(loader.stats()["held"], 0)

    def test_stats_while_another_thread_waits(self):
        loader = self.load({"only_waited": 1})
        batches, held = iter(loader), []

        def take():
            for _ in range(7):
                held.append(next(batches)["x"].tolist())
                time.sleep(0.01)

        thread = threading.Thread(target=take)
        thread.start()
        self.wait_until(lambda: held, "the first batch")
        for _ in range(5):
            self.assertIn("rows", loader.stats()["feed"])
        thread.join(10)
        self.assertFalse(thread.is_alive())
        self.assertEqual(len(held), 7)


class ErrorsTest(fake_case.FakeFeedTestCase):
    def test_each_status_has_a_fitting_exception(self):
        for code, kinds in {
            "INVALID_ARGUMENT": (penstock.InvalidArgumentError, ValueError),
            "NOT_FOUND": (penstock.NotFoundError, FileNotFoundError),
            "PERMISSION_DENIED": (penstock.AccessDeniedError, PermissionError),
            "FAILED_PRECONDITION": (penstock.FailedPreconditionError, RuntimeError),
            "RESOURCE_EXHAUSTED": (penstock.ResourceExhaustedError, MemoryError),
            "UNAVAILABLE": (penstock.UnavailableError, ConnectionError),
            "DATA_LOSS": (penstock.DataLossError,),
            "ABORTED": (penstock.AbortedError,),
            "INTERNAL": (penstock.Error,),
        }.items():
            error = from_status({"code": code, "message": "what happened"})
            for kind in (*kinds, penstock.Error):
                self.assertIsInstance(error, kind)
            self.assertIn("what happened", str(error))

    def test_the_constructor_raises_what_the_feed_refuses(self):
        with self.assertRaisesRegex(FileNotFoundError, "no data here"):
            self.load({"refuse": "NOT_FOUND:no data here"})

    def test_wrong_options_are_named_as_keywords(self):
        with self.assertRaisesRegex(ValueError, "^global_batch_size: 0 is not positive$"):
            self.load({"usage": "--global-batch-size: 0 is not positive"})
        with self.assertRaisesRegex(ValueError, "^shuffle=False needs nothing$"):
            self.load({"usage": "--no-shuffle needs nothing"})

    def test_unknown_keywords_are_answered_with_the_right_ones(self):
        for keyword, hint in (("batch_size", "global_batch_size"), ("num_workers", "threads"),
                              ("shufle", "shuffle"), ("nonsense", "help")):
            for make in (self.load, lambda **options: penstock.evaluate_loader("x", **options)):
                with self.assertRaisesRegex(TypeError, f"no option {keyword}.*{hint}"):
                    make(**{keyword: 1})
        with self.assertRaisesRegex(TypeError, "pack.. has no option shuffle.*seed"):
            penstock.pack([], "x", shuffle=True)
        self.assertIn("global_batch_size", inspect.signature(penstock.Loader).parameters)

    def test_a_value_of_a_wrong_type_is_named(self):
        with self.assertRaisesRegex(TypeError, "spec: not a int"):
            self.load(spec=3)
        for keyword in ("output", "layout", "copy", "pin"):
            with self.assertRaisesRegex(ValueError, keyword):
                self.load(**{keyword: "other"})

    def test_later_errors_name_keywords_too(self):
        loader = self.load({"fail_at": 0, "failure": "UNAVAILABLE:after --server-timeout 30s"})
        with self.assertRaisesRegex(penstock.UnavailableError, "^after server_timeout 30s$"):
            next(iter(loader))

    def test_damage_has_its_place_and_stays(self):
        loader = self.load({"fail_at": 2})
        batches = iter(loader)
        got = [next(batches)["x"][0], next(batches)["x"][0]]
        self.assertEqual(got, [0, 4])
        for _ in range(2):
            with self.assertRaises(penstock.DataLossError) as raised:
                next(batches)
            error = raised.exception
            self.assertEqual((error.shard, error.offset, error.record), ("a", 21, 2))
        self.assertEqual(loader.state_dict()["cursor"], f"ps1-{fake_feed.FINGERPRINT}-0-8")

    def test_after_an_error_a_state_starts_again(self):
        loader = self.load({"fail_at": 2})
        with self.assertRaises(penstock.DataLossError):
            read(loader)
        loader.load_state_dict(loader.state_dict())
        self.assertEqual(next(iter(loader))["x"].tolist(), [8, 9, 10, 11])

    def test_a_loader_cannot_be_pickled(self):
        import copy
        import pickle

        loader = self.load()
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "num_workers=0"):
                attempt(loader)
        with self.assertRaisesRegex(TypeError, "num_workers=0"):
            pickle.dumps(loader.map(lambda batch, rng: batch))

    def test_a_closed_loader_says_so(self):
        loader = self.load()
        batch = next(iter(loader))
        state = loader.state_dict()
        loader.close()
        loader.close()
        with self.assertRaisesRegex(RuntimeError, "closed"):
            next(iter(loader))
        self.assertEqual(batch["x"].tolist(), [0, 1, 2, 3])
        self.assertEqual(loader.state_dict(), state)

    def test_close_ends_the_wait_of_another_thread(self):
        loader = self.load({"deaf": 1})
        errors = []

        def wait():
            try:
                next(iter(loader))
            except RuntimeError as error:
                errors.append(str(error))

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.1)
        loader.close()
        thread.join(10)
        self.assertEqual(errors, ["this Loader is closed"])


class DeathTest(fake_case.FakeFeedTestCase):
    def die(self, expected, **behaviour):
        loader = self.load(behaviour)
        with self.assertRaises(penstock.FeedError) as raised:
            read(loader)
        self.assertRegex(str(raised.exception), expected)
        return loader, raised.exception

    def test_a_kill_names_the_signal_and_the_usual_killer(self):
        loader, error = self.die(r"signal 9 \(SIGKILL\).*ran out of memory", die_at=2)
        self.assertEqual(error.returncode, -9)
        self.assertEqual(loader.state_dict()["cursor"], f"ps1-{fake_feed.FINGERPRINT}-0-8")

    def test_the_last_lines_are_in_the_message(self):
        with self.assertLogs("penstock", logging.INFO) as logged:
            _, error = self.die("exit code 3. Its last lines:\n  the disk is gone$", exit_at=1,
                                last_words="the disk is gone")
        self.assertEqual(error.returncode, 3)
        self.assertEqual([record.getMessage() for record in logged.records], ["the disk is gone"])

    def test_it_stays_dead_until_a_state_is_loaded(self):
        loader, _ = self.die("SIGKILL", die_at=2)
        with self.assertRaisesRegex(penstock.FeedError, "SIGKILL"):
            read(loader)
        loader.load_state_dict(loader.state_dict())
        self.assertEqual(next(iter(loader))["x"].tolist(), [8, 9, 10, 11])

    def test_another_dataset_is_refused_when_it_starts_again(self):
        loader, _ = self.die("SIGKILL", die_at=2)
        shim = self.folder / "penstock"
        shim.write_text(shim.read_text().replace('"$@"', '--manifest steps=11 "$@"'))
        with self.assertRaisesRegex(penstock.FeedError, "changed since this Loader was made"):
            loader.load_state_dict(loader.state_dict())

    def test_ctrl_c_during_close_leaves_no_feed(self):
        for step in ("_let_go", "_feed.shut", "_feed.process.wait"):
            with self.subTest(step):
                loader = self.load()
                next(iter(loader))
                process = loader._stream._feed.process
                process.send_signal(signal.SIGSTOP)  # It ends by force alone.
                with interrupt_once(loader._stream, step), self.assertRaises(KeyboardInterrupt):
                    loader.close()
                self.assertEqual(process.returncode, -signal.SIGKILL)

    def test_stats_and_verdict_of_a_dead_feed(self):
        loader, _ = self.die("SIGKILL", die_at=2)
        self.assertEqual(loader.stats()["batches"], 2)
        self.assertEqual(loader.verdict().bound, "unknown")

    def test_code_that_reaps_children_is_named(self):
        loader = self.load({"die_at": 2})
        next(iter(loader))
        self.assertEqual(os.waitpid(-1, 0)[0], loader._stream._feed.process.pid)
        with self.assertRaisesRegex(penstock.FeedError, "waits for all children"):
            read(loader)

    def test_words_for_each_end(self):
        self.assertEqual(describe_end(3), "ended with exit code 3")
        self.assertIn("SIGSEGV", describe_end(-11))
        self.assertIn("signal 63", describe_end(-63))

    def test_a_program_that_cannot_be_executed_is_named(self):
        (self.folder / "penstock").chmod(0o644)
        with self.assertRaisesRegex(PermissionError, "chmod"):
            self.load()

    def test_a_stopped_feed_is_ended_by_force(self):
        loader = self.load()
        next(iter(loader))
        process = loader._stream._feed.process
        process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        loader.close()
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(process.returncode, -signal.SIGKILL)


class LogTest(fake_case.FakeFeedTestCase):
    def test_lines_come_while_the_consumer_waits(self):
        loader = self.load({"deaf": 3, "last_words": "warning: a server is late"})
        came = []
        began = time.monotonic()

        class Handler(logging.Handler):
            def emit(self, record):
                came.append((record.getMessage(), time.monotonic() - began))

        handler = Handler()
        logging.getLogger("penstock").addHandler(handler)
        self.addCleanup(logging.getLogger("penstock").removeHandler, handler)
        next(iter(loader))
        self.assertEqual(came[0][0], "a server is late")
        self.assertLess(came[0][1], 2)

    def test_a_feed_that_writes_much_costs_little_memory(self):
        from penstock._feed import FeedLog

        log = FeedLog()
        with self.assertLogs("penstock") as logged:
            for _ in range(40):
                os.write(log.fd, b"x" * 99999 + b"\n")
                log.forward()
                self.assertLess(os.fstat(log.fd).st_size, (1 << 20) + 100001)
            os.write(log.fd, b"the end")
            log.close()
        self.assertEqual([len(record.getMessage()) for record in logged.records],
                         [99999] * 40 + [len("the end")])


class OptionsTest(fake_case.FakeFeedTestCase):
    def arguments(self, **options):
        from penstock._options import feed_arguments

        return feed_arguments("data", options)

    def test_every_keyword_has_its_option(self):
        self.assertEqual(
            self.arguments(servers=["a:1", "b:2"], epochs=None, server_timeout=1.5,
                           look_ahead="64MiB", shuffle=False, shm=True, checksums=True,
                           threads=None, local_size=8),
            ["--manifest", "data", "--servers=a:1,b:2", "--epochs=0", "--server-timeout=1.5s",
             "--look-ahead=64MiB", "--no-shuffle", "--checksums", "--local-ranks=8"])

    def test_the_ranks_of_the_launcher_are_passed_on(self):
        variables = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"}
        with mock.patch.dict(os.environ, variables):
            loader = penstock.Loader(self.dataset())
        self.addCleanup(loader.close)
        arguments = loader._stream._feed.process.args
        for expected in ("--rank=3", "--world-size=8", "--local-ranks=8"):
            self.assertIn(expected, arguments)
        self.assertEqual((loader.rank, loader.world_size), (3, 8))

    def test_a_spec_may_be_text(self):
        script = self.folder / "penstock"
        script.write_text("#!/bin/sh\nfor a; do case $a in --spec=*) printf 'penstock: ' >&2; "
                          "cat ${a#--spec=} >&2;; esac; done\nexit 2\n")
        with self.assertRaisesRegex(ValueError, 'tensor { name: "a" }'):
            self.load(spec='tensor { name: "a" }')


if __name__ == "__main__":
    unittest.main()
