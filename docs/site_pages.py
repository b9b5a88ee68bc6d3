#!/usr/bin/env python3
"""Gathers the pages of the site: site_pages.py OUT, as docs/site.sh calls it.

OUT/pages gets all Markdown pages of the checkout, and the files that they link to, at their places, so
that links need no change. OUT/mkdocs.yml is the configuration; its navigation has the order in which
docs/README.md lists the pages.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s#]+)(?:#[^()\s]*)?\)")
FENCE = re.compile(r"^(```.*?^```)", re.M | re.S)
SECTIONS = {"Tutorial": "docs/tutorial", "Guides": "docs/guides", "Concepts": "docs/concepts",
            "Reference": "docs/reference", "Internals": "docs/internals", "Deploying": "deploy",
            "Measurements": "bench", "Packages and data": ""}
HIDDEN = (".github/",)


def tracked(pattern):
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
                          pattern], cwd=ROOT, check=True, capture_output=True).stdout
    return [name for name in out.decode().split("\0") if name and not name.startswith(HIDDEN)]


def linked(name):
    """The files of the checkout that a page links to."""
    for target in LINK.findall(FENCE.sub("", (ROOT / name).read_text())):
        path = (ROOT / name).parent / target
        if not re.match(r"[a-z]+:", target) and path.exists():
            yield path.resolve().relative_to(ROOT).as_posix()


def for_mkdocs(name):
    """A page with what GitHub reads otherwise: a list that follows a paragraph at once, a link to a folder."""
    def to_page(match):
        folder = (ROOT / name).parent / match[2]
        return f"{match[1]}({match[2].rstrip('/')}/README.md)" if folder.is_dir() else match[0]

    parts = FENCE.split((ROOT / name).read_text())
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"(\[[^\]]*\])\(([^()\s#:]+)\)", to_page, parts[i])
        parts[i] = re.sub(r"^((?![ \t]*(?:[-*] |\d+\. |\||#|>))\S.*\n)(?=(?:[-*] |1\. ))", r"\1\n",
                          parts[i], flags=re.M)
    return "".join(parts)


def stage(pages, names):
    shutil.rmtree(pages, ignore_errors=True)
    for name in sorted(names):
        source, target = ROOT / name, pages / name
        if source.is_dir():  # The link leads to a folder of sources, whose files are listed.
            target, text = target / "README.md", "".join(
                f"- {path.name}\n" for path in sorted(source.iterdir()))
            if (source / "README.md").exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"# {name}\n\n{text}")
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".md"):
                target.write_text(for_mkdocs(name))
            else:
                shutil.copyfile(source, target)


def navigation(pages):
    """Sections with their pages, in the order of docs/README.md."""
    order = list(dict.fromkeys(linked("docs/README.md")))
    order += sorted(set(pages) - set(order))
    left = [name for name in order if name in pages and name not in ("README.md", "docs/README.md")]
    nav = [{"Home": "README.md"}, {"All pages": "docs/README.md"}]
    for title, folder in SECTIONS.items():
        mine = [name for name in left if name.startswith(folder + "/" if folder else "")]
        left = [name for name in left if name not in mine]
        nav.append({title: mine})
    return nav


def configuration(out, nav):
    return {
        "site_name": "Penstock",
        "site_description": "A data-loading service for training",
        "docs_dir": str(out / "pages"),
        "site_dir": str(out / "html"),
        "use_directory_urls": False,  # The pages then work from a disk too.
        "nav": nav,
        "plugins": ["search"],
        "theme": {
            "name": "material",
            "font": False,  # No font is fetched from other sites.
            "features": ["navigation.tabs", "navigation.sections", "navigation.top",
                         "navigation.indexes", "toc.follow", "search.highlight", "search.share",
                         "content.code.copy"],
            "palette": [
                {"media": f"(prefers-color-scheme: {scheme})", "scheme": name, "primary": "teal",
                 "toggle": {"icon": icon, "name": f"Switch to {other} mode"}}
                for scheme, name, icon, other in (
                    ("light", "default", "material/weather-night", "dark"),
                    ("dark", "slate", "material/weather-sunny", "light"))],
        },
        "extra_css": ["docs/figures/site.css"],
        "markdown_extensions": [
            "tables", "attr_list", "md_in_html",
            "pymdownx.superfences", "pymdownx.highlight", "pymdownx.inlinehilite",
        ],
        "validation": {"omitted_files": "info", "not_found": "warn", "absolute_links": "warn",
                       "unrecognized_links": "warn", "anchors": "warn"},
    }


TOC = """  - toc:
      permalink: true
      slugify: !!python/object/apply:pymdownx.slugs.slugify
        kwds: {case: lower}
"""


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    pages = tracked("*.md")
    files = set(pages) | {"docs/figures/site.css"}
    for page in pages:
        files |= set(linked(page))
    stage(out / "pages", files)
    config = configuration(out, navigation(pages))
    extensions = config.pop("markdown_extensions")
    # Every value is JSON, which is YAML too. But only YAML can name the function that makes anchors
    # as GitHub does.
    lines = [f"{key}: {json.dumps(value)}" for key, value in config.items()]
    lines += ["markdown_extensions:", *(f"  - {name}" for name in extensions)]
    (out / "mkdocs.yml").write_text("\n".join(lines) + "\n" + TOC)


main()
