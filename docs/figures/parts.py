#!/usr/bin/env python3
"""Draws docs/figures/parts.svg, the picture of the README: python3 docs/figures/parts.py"""
import pathlib

WIDTH, HEIGHT = 960, 430
STYLE = """
  text { font-family: ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; font-size: 13px; fill: #1f2328; }
  .title { font-weight: 600; font-size: 15px; }
  .quiet { fill: #59636e; }
  .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 12.5px; }
  .page { fill: #ffffff; stroke: #d1d9e0; }
  .box { fill: #f6f8fa; stroke: #8c959f; }
  .server { fill: #ddf4ff; stroke: #0969da; }
  .trainer { fill: #dafbe1; stroke: #1a7f37; }
  .plan { fill: #fff8c5; stroke: #9a6700; }
  .lost { fill: #f6f8fa; stroke: #cf222e; stroke-dasharray: 5 4; }
  .alarm { fill: #cf222e; }
  .line { stroke: #59636e; fill: none; stroke-width: 1.6; }
  .faint { stroke: #8c959f; fill: none; stroke-width: 1.2; stroke-dasharray: 3 4; }
  .head { fill: #59636e; }
  @media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .quiet { fill: #9198a1; }
  .page { fill: #0d1117; stroke: #3d444d; }
  .box { fill: #151b23; stroke: #656c76; }
  .server { fill: #0c2a4d; stroke: #4493f8; }
  .trainer { fill: #0f2d1a; stroke: #3fb950; }
  .plan { fill: #2e2410; stroke: #d29922; }
  .lost { fill: #151b23; stroke: #f85149; }
  .alarm { fill: #f85149; }
  .line { stroke: #9198a1; }
  .faint { stroke: #656c76; }
  .head { fill: #9198a1; }
  }
"""
SERVERS = [70, 152, 234]
RANKS = [84, 204]
PLAN_Y = 338


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def box(x, y, width, height, kind):
    return (f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" class="{kind}" '
            'stroke-width="1.4"/>')


def arrow(x0, y0, x1, y1, kind="line"):
    middle = (x0 + x1) / 2
    return (f'<path d="M{x0} {y0} C{middle} {y0} {middle} {y1} {x1 - 7} {y1}" class="{kind}"/>'
            f'<path d="M{x1} {y1} l-9 -4.5 v9 z" class="head"/>')


def upright(x, y0, y1):
    tail = 8 if y1 < y0 else -8
    return (f'<path d="M{x} {y0} V{y1 + tail}" class="faint"/>'
            f'<path d="M{x} {y1} l-4.5 {tail} h9 z" class="head"/>')


def files():
    out = [text(118, 44, "Record files", "title", "middle"), box(40, 70, 156, 156, "box")]
    out += [text(118, 104 + 28 * i, f"shard-{i}.tfrecord", "mono", "middle") for i in range(3)]
    out += [text(118, 204, "disk or network", "quiet", "middle"), box(40, 248, 156, 52, "box"),
            text(118, 270, "manifest.pb", "mono", "middle"),
            text(118, 288, "chunks, checksums", "quiet", "middle")]
    return out


def servers():
    out = [text(410, 44, "penstock-server × N", "title", "middle")]
    for y in SERVERS[:2]:
        out += [box(306, y, 208, 66, "server"), text(410, y + 28, "reads, decodes, sends rows", "", "middle"),
                text(410, y + 48, "chunks cached; no job state", "quiet", "middle")]
    y = SERVERS[2]
    out += [box(306, y, 208, 66, "lost"), text(410, y + 28, "killed, added, replaced", "alarm", "middle"),
            text(410, y + 48, "the others take its windows", "quiet", "middle")]
    return out


def trainers():
    out = [text(794, 44, "Trainer, ranks 0 … R−1", "title", "middle")]
    for rank, y in enumerate(RANKS):
        out += [box(668, y, 252, 88, "trainer"), box(682, y + 16, 96, 56, "box"),
                text(730, y + 40, "Loader", "", "middle"), text(730, y + 58, "look-ahead", "quiet", "middle"),
                arrow(778, y + 44, 810, y + 44), text(818, y + 40, f"rank {rank if rank == 0 else 'R−1'}"),
                text(818, y + 58, "CPU or GPU", "quiet")]
    out.append(text(794, 194, "⋮", "title", "middle"))
    return out


def arrows():
    out = [arrow(196, 148, 306, server + 33) for server in SERVERS]
    for server in SERVERS[:2]:
        out += [arrow(514, server + 33, 668, rank + 44) for rank in RANKS]
    out += [text(591, 76, "gRPC with TLS, or", "quiet", "middle"),
            text(591, 94, "shared memory", "quiet", "middle")]
    return out


def plan():
    middle = PLAN_Y + 36
    out = [box(40, PLAN_Y, 880, 64, "plan"), text(60, middle - 8, "The plan is arithmetic", "title"),
           text(60, middle + 12, "no coordinator, no journal", "quiet"),
           text(270, middle + 2, "(manifest, seed, step t)  →  the records of step t, in order", "mono"),
           text(902, middle - 8, "every rank computes it;", "quiet", "end"),
           text(902, middle + 12, "a cursor is a few bytes", "quiet", "end")]
    return out + [upright(118, 300, PLAN_Y), upright(730, PLAN_Y, 292)]


def main():
    shapes = [box(0.7, 0.7, WIDTH - 1.4, HEIGHT - 1.4, "page")]
    shapes += arrows() + files() + servers() + trainers() + plan()
    out = pathlib.Path(__file__).with_name("parts.svg")
    out.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
                   'aria-label="Record files are read by servers, which send rows to the ranks of a trainer">\n'
                   f'<style>{STYLE}</style>\n' + "\n".join(shapes) + "\n</svg>\n")


main()
