#!/usr/bin/env python3
"""Draws transactions per second, second by second, of several servers.

  sysbench ... --report-interval=1 run | tee evenkeel.log      # the same work against each server, one after the other
  draw.py "Updates at 3,000 operations per second" evenkeel.log mysql.log > lines.svg
  draw.py "Updates at 3,000 operations per second" seconds.csv > lines.svg
  draw.py --table evenkeel.log mysql.log > seconds.csv

A log is what sysbench prints; the line is called as the file. A table has a column for each server, named in its first
row, and a row for each second, as many as the shortest log has. Up to four servers; the last stands out.
"""
import csv
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 860, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 44, 40
COLOURS = ["#b8860b", "#8c6bb1", "#5f7a8a", "#0b7285"]
SECOND = re.compile(r"\[ \d+s \].* tps: ([\d.]+)")


def read(paths):
    """The transactions of each second, by server."""
    if len(paths) == 1 and paths[0].suffix == ".csv":
        names, *rows = csv.reader(paths[0].open(newline=""))
        columns = zip(*rows, strict=True)
        return {name: [float(cell) for cell in column] for name, column in zip(names, columns, strict=True)}
    return {path.stem: [float(tps) for tps in SECOND.findall(path.read_text())] for path in paths}


def table(lines):
    yield ",".join(lines)
    for row in zip(*lines.values()):
        yield ",".join(f"{tps:.0f}" for tps in row)


def step(most):
    """The distance of the horizontal lines: four to eight of them, at round numbers."""
    magnitude = 10 ** (len(str(int(most))) - 1)
    return next(size * magnitude for size in (0.2, 0.25, 0.5, 1, 2) if most / (size * magnitude) <= 8)


def picture(title, lines):
    most = max(max(line) for line in lines.values())
    seconds = max(len(line) for line in lines.values())
    distance = step(most)
    top = (most // distance + 1) * distance

    def x(second):
        return LEFT + (WIDTH - LEFT - RIGHT) * second / max(seconds - 1, 1)

    def y(tps):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * tps / top

    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
    )
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    yield f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>'
    level = 0
    while level <= top:
        yield f'<path d="M{LEFT} {y(level):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y(level) + 4:.1f}" text-anchor="end" fill="#555555">{level:,.0f}</text>'
        level += distance
    for second in range(0, seconds, max(seconds // 6 // 10 * 10, 10)):
        yield f'<text x="{x(second):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="#555555">{second} s</text>'
    for (name, line), colour in zip(lines.items(), COLOURS[-len(lines) :], strict=True):
        points = " ".join(f"{x(second):.1f},{y(tps):.1f}" for second, tps in enumerate(line))
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        middle = sorted(line)[len(line) // 2]
        yield f'<text x="{WIDTH - RIGHT + 10}" y="{y(middle) + 4:.1f}" fill="{colour}">{escape(name)}</text>'
    yield "</svg>"


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    title, *paths = arguments
    lines = read([Path(path) for path in paths])
    if len(lines) > len(COLOURS):
        sys.exit(f"{len(lines)} servers: a picture has room for {len(COLOURS)}")
    for name, line in lines.items():
        if not line:
            sys.exit(f"{name}: no seconds in it; run sysbench with --report-interval=1")
    print("\n".join(table(lines) if title == "--table" else picture(title, lines)))


main(sys.argv[1:])
