#!/usr/bin/env python3
"""Checks that links between pages resolve, and that each docs/... path named anywhere exists."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The groups are the last word of the text, and the target.
LINK = re.compile(r"([\w.-]*)\]\(([^()\s]+)\)")
NAMED = re.compile(r"(?<![\w./-])docs/[\w./-]*\w\.(?:md|svg)\b")


def anchors(page):
    """Returns the anchors of a page's headings, as GitHub makes them."""
    found = set()
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for title in re.findall(r"^#+ +(.*)$", text, flags=re.M):
        title = re.sub(r"\]\([^)]*\)", "]", title)
        name = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        repeat, unique = 0, name
        while unique in found:
            repeat += 1
            unique = f"{name}-{repeat}"
        found.add(unique)
    return found


def broken_links(file, text):
    for word, target in LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        page = (file.parent / path) if path else file
        if not page.exists():
            yield f"{target}: no such file"
        elif anchor and page.suffix == ".md" and anchor not in anchors(page):
            yield f"{target}: no such heading"
        elif word.endswith(".md") and word != page.name:
            yield f"{target}: the link is called {word}"


def main():
    failed = False
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    for name in filter(None, names.stdout.decode().split("\0")):
        file = ROOT / name
        try:
            text = file.read_text()
        except (UnicodeDecodeError, OSError):
            continue
        found = [f"{path}: no such file" for path in NAMED.findall(text) if not (ROOT / path).exists()]
        if file.suffix == ".md":
            found += broken_links(file, text)
        for complaint in found:
            print(f"{name}: {complaint}")
            failed = True
    return failed


sys.exit(main())
