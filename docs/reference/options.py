#!/usr/bin/env python3
"""Writes docs/reference/options_*.md from the tables that --help is made from, share/penstock/PROGRAM.json.

  python3 docs/reference/options.py build/release/bin            # write the pages
  python3 docs/reference/options.py build/release/bin --check    # say which are not current, and exit with 1

It also exits with 1 if a command or the meaning of an option is missing. The tables are in ../share/penstock of the
folder of the programs; `PROGRAM --write-shell-files ../share` writes them.
"""
import json
import pathlib
import re
import sys

PROGRAMS = ("penstock", "penstock-server", "penstock-train")
# Each page's title and commands, and the commands whose common options are written once.
PAGES = {
    "data": ("Options of the commands that make and show data",
             ["penstock index", "penstock inspect", "penstock decode", "penstock pack", "penstock chess generate"],
             []),
    "reading": ("Options of the commands that read from servers",
                ["penstock stream", "penstock bench", "penstock which", "penstock feed", "penstock size", "penstock top"],
                ["penstock stream", "penstock bench", "penstock which", "penstock feed"]),
    "server": ("Options of `penstock-server`", ["penstock-server"], []),
    "training": ("Options of `penstock-train`",
                 ["penstock-train", "penstock-train evaluate", "penstock-train predict", "penstock-train export",
                  "penstock-train devices", "penstock-train products"],
                 ["penstock-train", "penstock-train evaluate", "penstock-train predict"]),
    "launch": ("Options of `penstock launch`", ["penstock launch"], []),
}
HEAD = """# {title}

`docs/reference/options.py` writes this page from what `--help` shows. [Commands](commands.md) says what each command is for.
"""


def tables(folder):
    """The page of each command by its name, as shell_files.cc writes it."""
    pages = []
    for program in PROGRAMS:
        pages += json.loads((folder.parent / "share" / "penstock" / f"{program}.json").read_text())
    return {page["name"]: page for page in pages}


def escaped(text):
    text = re.sub(r"([\\|*_<])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--[a-z][a-z0-9-]*)", r"`\1`", text)


def listed(words, last):
    """`a`, `b` or `c`."""
    words = [f"`{word}`" for word in words]
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def is_help(row):
    return "--help" in row["names"]


def groups_of(page):
    """Pairs of a title and its rows, without --help."""
    pairs = [(group["title"], [row for row in group["options"] if not is_help(row)]) for group in page["groups"]]
    return [(title, rows) for title, rows in pairs if rows]


def declaration(row):
    is_option = row["names"][0].startswith("-")
    value = " " + row["placeholder"] if is_option and row["placeholder"] else ""
    return "`" + ", ".join(row["names"]) + value + ("..." if row["repeated"] else "") + "`"


def meaning(row):
    """The description, and which values it takes."""
    sentences = [escaped(row["description"])]
    if row["choices"]:
        sentences.append("One of " + listed(row["choices"], "or"))
    if row["range"]:
        sentences.append(row["range"][0].upper() + row["range"][1:])
    if row["excludes"]:
        sentences.append(f"Not with `{row['excludes']}`")
    if row["variable"]:
        sentences.append(f"Also from the environment variable `{row['variable']}`")
    return ". ".join(sentences)


def default(row):
    if row["required"]:
        return "required"
    if row["names"][-1] == "--threads" and row["default"] not in ("", "0"):
        return "the cores"  # The text says how many cores this machine has.
    return f"`{row['default']}`" if row["default"] else ""


def group_table(title, rows):
    lines = [f"| {declaration(row)} | {meaning(row)} | {default(row)} |" for row in rows]
    return ["", f"**{title}**", "", "| option | meaning | default |", "|---|---|---|", *lines]


def example_of(page):
    return ["", "```", *page["examples"], "```"] if page["examples"] else []


def common_groups(pages):
    """Returns the groups of the first page, with only the rows that all `pages` have in the same
    group."""
    def rows_of(page, title):
        return next((rows for other, rows in groups_of(page) if other == title), [])

    pairs = [(title, [row for row in rows if all(row in rows_of(page, title) for page in pages)])
             for title, rows in (groups_of(pages[0]) if pages else [])]
    return [(title, rows) for title, rows in pairs if rows]


def shared_section(commands, shared):
    lines = ["", "## Shared options", "", f"{listed(commands, 'and')} take these options."]
    for title, rows in shared:
        lines += group_table(title, rows)
    return lines


def reference(page, takes_all, shared):
    """Says which shared options a command takes."""
    if takes_all:
        return ["", "It also takes the [shared options](#shared-options)."]
    own = [row for _, rows in groups_of(page) for row in rows]
    names = [row["names"][-1] for _, rows in shared for row in rows if row in own]
    return ["", f"It also takes these [shared options](#shared-options): {listed(names, 'and')}."] if names else []


def section(page, takes_all, shared):
    """The Markdown of one command."""
    lines = ["", f"## {page['name']}", "", escaped(page["description"]), "", "```", page["usage"], "```"]
    lines += reference(page, takes_all, shared)
    known = [row for _, rows in shared for row in rows]
    for title, rows in groups_of(page):
        own = [row for row in rows if row not in known]
        if own:
            lines += group_table(title, own)
    return lines + example_of(page)


def text_of(title, commands, sharing, pages):
    lines = HEAD.format(title=title).rstrip().split("\n")
    shared = common_groups([pages[name] for name in sharing])
    if shared:
        lines += shared_section(sharing, shared)
    for name in commands:
        lines += section(pages[name], name in sharing, shared)
    return "\n".join(lines) + "\n"


def without_meaning(page):
    return [", ".join(row["names"]) for _, rows in groups_of(page) for row in rows if not row["description"]]


def complaints(name, commands, pages):
    """Returns the reasons why the page `name` cannot be written."""
    missing = [f"there is no table of {command}" for command in commands if command not in pages]
    mute = [f"no meaning was found for {option}" for command in commands if command in pages
            for option in without_meaning(pages[command])]
    return [f"options_{name}.md: {what}" for what in missing + mute]


def main():
    folder, check = pathlib.Path(sys.argv[1]).resolve(), "--check" in sys.argv[2:]
    try:
        pages = tables(folder)
    except FileNotFoundError as error:
        print(f"{error.filename}: no such file; the build writes it")
        return True
    wrong = False
    for name, (title, commands, sharing) in PAGES.items():
        path = pathlib.Path(__file__).with_name(f"options_{name}.md")
        if said := complaints(name, commands, pages):
            print("\n".join(said))
            wrong = True
            continue
        text = text_of(title, commands, sharing, pages)
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path.name} is not what --help shows: run python3 docs/reference/options.py {sys.argv[1]}")
            wrong = True
    return wrong


sys.exit(main())
