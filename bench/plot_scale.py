#!/usr/bin/env python3
"""Prints the tables of docs/guides/scale.md, and of the costs of the controller in docs/internals/client.md,
from the output of fleet_sim. Draws docs/figures/scale.svg.

  build/release/bin/fleet_sim --full --json scale.json
  python3 bench/plot_scale.py scale.json [MORE.json ...] [--out docs/figures]
"""
import argparse
import json
import math
import os
import sys

WIDTH, HEIGHT, LEFT, TOP, PLOT_W, PLOT_H = 960, 320, 60, 40, 240, 210
COLORS = ["#1f5fa8", "#c0392b", "#2e8b57"]


def load(files):
    return [row for name in files for row in json.load(open(name))["results"]]


def select(rows, group, name):
    return sorted((r for r in rows if r["group"] == group and r["name"] == name),
                  key=lambda r: (r["servers"], r["ranks"]))


def panel(index, title, x_key, y_label, series, log_y):
    """One chart with a logarithmic x axis. `series` is [(label, rows, function of a row)]."""
    x0 = LEFT + index * (PLOT_W + 70)
    xs = sorted({r[x_key] for _, rows, _ in series for r in rows})
    ys = [value(r) for _, rows, value in series for r in rows]
    low, high = (min(ys), max(ys)) if log_y else (0, max(ys) * 1.1 or 1)
    span = math.log(xs[-1] / xs[0]) or 1

    def px(x):
        return x0 + PLOT_W * math.log(x / xs[0]) / span

    def py(y):
        share = math.log(y / low) / (math.log(high / low) or 1) if log_y else y / high
        return TOP + PLOT_H * (1 - share)

    out = [f'<text x="{x0}" y="{TOP - 14}" font-weight="bold">{title}</text>',
           f'<rect x="{x0}" y="{TOP}" width="{PLOT_W}" height="{PLOT_H}" fill="none" stroke="#999"/>',
           f'<text x="{x0 + PLOT_W / 2}" y="{TOP + PLOT_H + 34}" text-anchor="middle">{x_key}</text>',
           f'<text x="{x0 - 4}" y="{TOP - 2}" text-anchor="end" fill="#555">{y_label}</text>']
    for x in xs[:: max(1, len(xs) // 5)]:
        out.append(f'<text x="{px(x):.1f}" y="{TOP + PLOT_H + 16}" text-anchor="middle">{x:,}</text>')
    for i in range(5):
        y = low * (high / low) ** (i / 4) if log_y else high * i / 4
        text = f"{y:,.0f}" if y >= 10 else f"{y:.2f}"
        out.append(f'<text x="{x0 - 4}" y="{py(y) + 4:.1f}" text-anchor="end">{text}</text>')
        out.append(f'<line x1="{x0}" x2="{x0 + PLOT_W}" y1="{py(y):.1f}" y2="{py(y):.1f}" '
                   'stroke="#ddd"/>')
    for i, (label, rows, value) in enumerate(series):
        points = " ".join(f"{px(r[x_key]):.1f},{py(value(r)):.1f}" for r in rows)
        out.append(f'<polyline points="{points}" fill="none" stroke="{COLORS[i]}" '
                   'stroke-width="2"/>')
        out.append(f'<text x="{x0 + 8}" y="{TOP + 18 + 15 * i}" fill="{COLORS[i]}">{label}</text>')
    return out


def draw(rows, path):
    greedy, paced = select(rows, "servers", "greedy"), select(rows, "servers", "60 %")
    body = panel(0, "Throughput", "servers", "rows/s",
                 [("all that can be had", greedy, lambda r: r["rows_per_second"]),
                  ("60 % of it asked for", paced, lambda r: r["rows_per_second"])], True)
    body += panel(1, "Controller, processor time", "servers", "us/request",
                  [("60 %, one rank", paced, lambda r: r["scheduler_us_per_request"])], False)
    body += panel(2, "Loads per window, 64 servers", "ranks", "",
                  [("60 %", select(rows, "ranks", "60 %"), lambda r: r["loads_per_window"])], False)
    with open(path, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
                   'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" '
                   'fill="white"/>\n' + "\n".join(body) + "\n</svg>\n")


def waits(row):
    return " / ".join(f'{row[key]:,.0f}' for key in ("wait_p50_ms", "wait_p99_ms", "wait_max_ms"))


def percent(share):
    return f"{100 * share:.1f} %"


def pairs(rows, group):
    """[(greedy, at 60 %)] for the same numbers of servers and ranks."""
    return list(zip(select(rows, group, "greedy"), select(rows, group, "60 %")))


def print_table(title, header, lines):
    if not lines:
        return
    print(f"\n{title}\n")
    for i, line in enumerate([header] + lines):
        print("".join(f"| {cell} " if cell else "| " for cell in line) + "|")
        if i == 0:
            print("|---" * len(header) + "|")


def print_servers(rows):
    print_table(
        "More servers",
        ["servers", "ranks", "all: rows/s", "of capacity", "wait p50 / p99 / longest, ms",
         "60 %: of capacity", "wait p50 / p99 / longest, ms", "loads per window",
         "busiest server / mean"],
        [[f'{a["servers"]:,}', f'{a["ranks"]:,}', f'{a["rows_per_second"]:,.0f}',
          f'{a["efficiency"]:.2f}', waits(a), f'{b["efficiency"]:.2f}', waits(b),
          f'{a["loads_per_window"]:.3f}', f'{1 / a["balance"]:.2f}']
         for a, b in pairs(rows, "servers")])


def print_ranks(rows):
    print_table(
        "More ranks of one job",
        ["ranks", "rows of a batch", "all: of capacity", "wait p50 / p99 / longest, ms",
         "60 %: of capacity", "wait p50 / p99 / longest, ms", "loads per window, all / 60 %",
         "controller, µs a request"],
        [[f'{a["ranks"]:,}', f'{32768 // a["ranks"]:,}', f'{a["efficiency"]:.2f}', waits(a),
          f'{b["efficiency"]:.2f}', waits(b),
          f'{a["loads_per_window"]:.2f} / {b["loads_per_window"]:.2f}',
          f'{b["scheduler_us_per_request"]:.0f}']
         for a, b in pairs(rows, "ranks")])


def print_trouble(rows):
    print_table(
        "Trouble, at 60 %",
        ["servers", "ranks", "", "of capacity", "wait p50 / p99 / longest, ms",
         "loads per window", "busiest server / mean"],
        [[f'{r["servers"]:,}', f'{r["ranks"]:,}', r["name"], f'{r["efficiency"]:.2f}', waits(r),
          f'{r["loads_per_window"]:.3f}', f'{1 / r["balance"]:.2f}']
         for r in rows if r["group"] == "trouble"])


def print_membership(rows):
    print_table(
        "A server joins or leaves, at 60 %",
        ["servers", "ranks", "", "lanes that moved", "1 of N + 1", "read again, MB",
         "wait longest, ms"],
        [[f'{r["servers"]:,}', f'{r["ranks"]:,}', r["name"], percent(r["lanes_moved"]),
          percent(1 / (r["servers"] + 1)), f'{r["reloaded_bytes"] / 1e6:.0f}',
          f'{r["wait_max_ms"]:.0f}']
         for r in rows if r["group"] == "membership"])


def print_controller(rows):
    minute = {r["servers"]: f'{r["scheduler_us_per_request"]:.0f}'
              for r in select(rows, "trouble", "none")}
    print_table(
        "What the controller costs",
        ["servers", "ranks", "rows of a request", "first 2 s, ms in all",
         "then, for 4 s, µs a request", "in *trouble*, none, µs a request"],
        [[f'{r["servers"]:,}', f'{r["ranks"]:,}', f'{r["rows_per_request"]:.0f}',
          f'{r["scheduler_start_ms"]:.1f}', f'{r["scheduler_us_per_request"]:.0f}',
          minute.get(r["servers"], "–")]
         for r in select(rows, "servers", "60 %")])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--out", default="docs/figures")
    options = parser.parse_args()
    rows = load(options.files)
    for print_group in (print_servers, print_ranks, print_trouble, print_membership,
                        print_controller):
        print_group(rows)
    missing = {"servers", "ranks"} - {row["group"] for row in rows}
    if missing:
        sys.exit(f"scale.svg is not drawn: no results of {' and '.join(sorted(missing))}; "
                 "pass the files of several `fleet_sim --only` runs, or of one run without --only")
    os.makedirs(options.out, exist_ok=True)
    draw(rows, os.path.join(options.out, "scale.svg"))


if __name__ == "__main__":
    main()
