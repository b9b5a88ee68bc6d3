"""The documentation renders as a site without a broken link, and works in a browser."""

import contextlib
import functools
import http.server
import os
import pathlib
import queue
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "build/site/html"
PAGES = ("index.html", "docs/tutorial/index.html", "docs/guides/own_data.html",
         "docs/concepts/order.html", "docs/reference/protocol.html")
CHROMIUM = shutil.which("chromium")
# Lines in the log of Chromium that show an error of a page's scripts or of its loading.
WRONG = re.compile(r"CONSOLE.*(?:Uncaught|Error|Failed|Refused)|ERR_\w+")


# A page that types ?WORD into the search of the site, and posts the addresses of the results.
PROBE = """<iframe id=site width=1300 height=900></iframe><script>
const site = document.getElementById("site");
site.src = "/index.html?q=" + location.search.slice(1);
setInterval(() => {
  const links = [...site.contentDocument.querySelectorAll(".md-search-result__link")];
  const body = links.map(link => link.href).join("\\n");
  if (links.length) fetch("/found" + location.search, {method: "POST", body});
}, 200);
</script>"""
# Words for which users of other loaders search, and a page that they should find for each.
SEARCHED = {"drop_remainder": "coming_from", "num_workers": "coming_from", "shard": "coming_from",
            "RaggedTensor": "coming_from", "sampler": "faq", "FAQ": "faq",
            "troubleshooting": "failures"}


def can_install():
    """Returns whether MkDocs is there already, or PyPI can be reached."""
    if (ROOT / "build/site/venv/requirements.txt").exists():
        return True
    return subprocess.run(["python3", "-m", "pip", "download", "-q", "--no-deps", "--retries", "1",
                           "-d", ROOT / "build/site/probe", "-r",
                           ROOT / ".ci/requirements-site.txt"],
                          check=False, capture_output=True).returncode == 0


@unittest.skipUnless(can_install(), "PyPI cannot be reached: MkDocs Material cannot be installed")
class UsageTest(unittest.TestCase):
    def test_wrong_usage_is_told_before_anything_is_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder, "docs")
            docs.mkdir()
            script = shutil.copy(ROOT / "docs/site.sh", docs)
            ended = subprocess.run([script, "X"], capture_output=True, text=True, check=False)
            self.assertEqual((ended.returncode, ended.stderr),
                             (2, "usage: docs/site.sh [--serve]\n"))
            self.assertEqual(os.listdir(folder), ["docs"])


class SiteTest(unittest.TestCase):
    """Tests the site that docs/site.sh builds, as a reader would build it."""

    @classmethod
    def setUpClass(cls):
        # --strict: a link that leads nowhere, also to a heading, is an error.
        built = subprocess.run([ROOT / "docs/site.sh"], text=True, capture_output=True, check=False)
        assert built.returncode == 0, built.stdout + built.stderr

    def setUp(self):
        self.found = queue.Queue()
        handler = functools.partial(Handler, self.found, directory=SITE)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        self.address = f"http://127.0.0.1:{server.server_port}"

    def open(self, page, *options):
        """Returns the document after its scripts have run. Fails if the browser reports an
        error."""
        ran = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--enable-logging=stderr", "--virtual-time-budget=15000", *options, "--dump-dom",
             f"{self.address}/{page}"], text=True, capture_output=True, timeout=300, check=True)
        self.assertEqual(WRONG.findall(ran.stderr), [], ran.stderr)
        return ran.stdout

    def test_every_page_of_the_docs_is_there(self):
        for page in (ROOT / "docs").rglob("*.md"):
            name = page.relative_to(ROOT).with_suffix(".html").as_posix()
            name = name.replace("README.html", "index.html")
            self.assertTrue((SITE / name).exists(), name)

    @unittest.skipUnless(CHROMIUM, "Chromium is not installed")
    def test_a_browser_shows_five_pages_without_an_error(self):
        for page in PAGES:
            document = self.open(page)
            title = re.search(r"<h1[^>]*>([^<]+)", document)
            self.assertIsNotNone(title, page)
            self.assertNotIn("404", title[1])
            for picture in re.findall(r'<img[^>]*src="([^"]+)"', document):
                path = (SITE / page).parent / picture
                self.assertTrue(path.exists(), f"{page}: {picture}")

    def search(self, word):
        """Returns the addresses that the search finds. The index is read by a thread of the page,
        for which --dump-dom does not wait; so the browser runs until the page posts the results."""
        profile = tempfile.mkdtemp(prefix="penstock-chromium-")
        self.addCleanup(shutil.rmtree, profile, ignore_errors=True)
        with subprocess.Popen(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--remote-debugging-port=0", f"--user-data-dir={profile}",
                 f"{self.address}/probe?{word}"], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL) as browser:
            try:
                while True:
                    path, links = self.found.get(timeout=120)
                    if path == f"/found?{word}":  # Not a late answer to the last word.
                        return links
            finally:
                browser.terminate()

    @unittest.skipUnless(CHROMIUM, "Chromium is not installed")
    def test_search_finds_the_words_of_other_loaders(self):
        for word, page in SEARCHED.items():
            self.assertIn(f"docs/guides/{page}.html", self.search(word), word)

    @unittest.skipUnless(CHROMIUM, "Chromium is not installed")
    def test_a_reader_who_prefers_dark_pages_gets_them(self):
        for value, scheme in (("0", "slate"), ("1", "default")):
            document = self.open(PAGES[0], f"--blink-settings=preferredColorScheme={value}")
            body = re.search(r"<body[^>]*>", document)[0]
            self.assertIn(f'data-md-color-scheme="{scheme}"', body)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files and PROBE, keeps what PROBE finds, and prints nothing."""

    def __init__(self, found, *args, **options):
        self.found = found
        super().__init__(*args, **options)

    def do_GET(self):
        if not self.path.startswith("/probe?"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PROBE.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.found.put((self.path, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass

    def copyfile(self, source, outputfile):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            super().copyfile(source, outputfile)


if __name__ == "__main__":
    os.chdir(ROOT)
    unittest.main()
