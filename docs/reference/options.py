#!/usr/bin/env python3
"""Writes docs/reference/options_*.md from what the programs print with --help.

  python3 docs/reference/options.py build/release/bin            # write the pages
  python3 docs/reference/options.py build/release/bin --check    # say which are not current, and exit with 1

It exits with 1, too, if it finds no meaning for an option.
"""
import pathlib
import re
import subprocess
import sys

PAGES = {
    "data": ("Options of the commands that make and show data",
             ["penstock index", "penstock inspect", "penstock decode", "penstock pack", "penstock chess generate"]),
    "reading": ("Options of the commands that read from servers",
                ["penstock stream", "penstock bench", "penstock top", "penstock which",
                 "penstock feed"]),
    "server": ("Options of `penstock-server`", ["penstock-server"]),
    "training": ("Options of `penstock-train` and `penstock launch`",
                 ["penstock-train", "penstock launch", "penstock-train evaluate", "penstock-train predict",
                  "penstock-train export", "penstock-train devices", "penstock-train products"]),
}
TYPES = {"UINT": "number", "INT": "number", "FLOAT": "number", "TEXT": ""}
RULES = {"POSITIVE": "above 0", "NONNEGATIVE": "0 or more"}
DESCRIPTION_COLUMN = 30
HEAD = """# {title}

`{script}` writes this page from what `--help` prints. [Commands](commands.md) says what each command is for.
"""


def help_of(folder, command):
    words = command.split()
    return subprocess.run([folder / words[0], *words[1:], "--help"], check=True, capture_output=True,
                          text=True).stdout


def escaped(text):
    text = re.sub(r"([\\|*_<])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--[a-z][a-z0-9-]*)", r"`\1`", text)


def fits(line):
    """Whether a declaration ends before the column of descriptions; a longer one may have a space there."""
    return line[DESCRIPTION_COLUMN - 1:DESCRIPTION_COLUMN] == " "


def entries(lines):
    """Pairs of an option as it is declared and its description, of the lines of one section."""
    found = []
    for line, following in zip(lines, lines[1:] + [""]):
        declaration, description = line[:DESCRIPTION_COLUMN].strip(), line[DESCRIPTION_COLUMN:].strip()
        if not declaration:
            found[-1][1] = (found[-1][1] + " " + description).strip()
        elif "  " in line.strip() or fits(line) and not following.startswith(" " * DESCRIPTION_COLUMN):
            found.append([declaration, description])
        else:  # A long declaration has lines of its own for its description.
            found.append([line.strip(), ""])
    return found


def declared(declaration):
    """Name, values and default of `--dtype TEXT:{packed,i8}=i8` or the like."""
    name, _, rest = declaration.partition(" ")
    rest, _, variable = rest.partition("(Env:")
    required = rest.rstrip().endswith("REQUIRED")
    rest, _, excluded = rest.partition(" Excludes: ")
    kind, _, default = rest.replace("REQUIRED", "").replace("...", "").strip().partition("=")
    type_name, _, rule = kind.partition(":")
    choices, bounds = re.match(r"\{(.*)\}$", rule), re.search(r"([\d.]*\d)(?:\.\.| - )([\d.e+]+)", rule)
    if choices:
        values = choices[1].replace(",", ", ")
    elif bounds:
        values = f"{bounds[1]} to {bounds[2]}"
    else:
        values = RULES.get(rule) or TYPES.get(type_name, type_name)
    if excluded:
        values += f", not with `{excluded}`"
    if name == "--threads" and default != "0":
        default = "the cores"  # It says how many this machine has.
    elif default:
        default = f"`{default}`"
    if required:
        default = "required"
    if variable:
        default = ", ".join(filter(None, [f"`${variable[:-1]}`", default]))
    return name.replace(",", ", "), values, default


def row(declaration, meaning):
    name, values, default = declared(declaration)
    return f"| `{name}` | {values} | {default} | {escaped(meaning)} |"


def section(folder, command):
    """The Markdown of one command."""
    before, usage, after = help_of(folder, command).partition("Usage: ")
    usage, _, after = after.partition("\n")
    out = ["", f"## {command}", "", escaped(" ".join(before.split())), "", "```", usage.strip(), "```"]
    rows, example = [], []
    for title, body in re.findall(r"^(\w[^\n]*):\n((?:[ \t]+[^\n]*\n|\n(?=  ))+)", after, re.MULTILINE):
        lines = [line for line in body.split("\n") if line.strip()]
        if title in ("Options", "Positionals"):
            rows += [row(*entry) for entry in entries(lines) if not entry[0].startswith("-h,")]
        elif title.startswith("Example"):
            example = ["", "```", *(line[2:] for line in lines), "```"]
    if rows:
        out += ["", "| option | values | default | meaning |", "|---|---|---|---|", *rows]
    return out + example


def page(folder, title, commands):
    lines = HEAD.format(title=title, script="docs/reference/options.py").rstrip().split("\n")
    for command in commands:
        lines += section(folder, command)
    return "\n".join(lines) + "\n"


def without_meaning(text):
    return re.findall(r"^\| `(.*?)` \|.*\|\s*\|$", text, re.MULTILINE)


def main():
    folder, check = pathlib.Path(sys.argv[1]).resolve(), "--check" in sys.argv[2:]
    wrong = False
    for name, (title, commands) in PAGES.items():
        path = pathlib.Path(__file__).with_name(f"options_{name}.md")
        text = page(folder, title, commands)
        for option in without_meaning(text):
            print(f"{path.name}: no meaning was found for {option}")
            wrong = True
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path.name} is not what --help says: run python3 docs/reference/options.py {sys.argv[1]}")
            wrong = True
    return wrong


sys.exit(main())
