# SPDX-License-Identifier: BSD-3-Clause
"""Each job's GPUs over time, as terminal text and as SVG."""
from html import escape

BLOCKS = {0: " ", 1: "▁", 2: "▂", 4: "▄", 8: "▆", 16: "█"}
PLAIN = {0: " ", 1: "1", 2: "2", 4: "4", 8: "8", 16: "G"}
COLOURS = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2"]


def gpus_at(result, time_s):
    for phase in result.phases:
        if phase.begin_s <= time_s <= phase.end_s:
            return phase.gpus
    return 0


def terminal_chart(results, start_s, end_s, columns=72, utf8=True):
    blocks = BLOCKS if utf8 else PLAIN
    step_s = (end_s - start_s) / columns
    lines = []
    for result in results:
        cells = ""
        for column in range(columns):
            time_s = start_s + (column + 0.5) * step_s
            waits = result.submit_s <= time_s <= result.end_s
            gpus = gpus_at(result, time_s)
            cells += blocks.get(gpus, "?") if gpus else ("." if waits else " ")
        lines.append(f"  {result.name:<8} {cells}")
    ticks = "".join(f"{int(step_s * column):<12d}" for column in range(0, columns, 12))
    legend = "  ".join(f"{blocks[gpus]} {gpus}" for gpus in (1, 2, 4, 8, 16)) + "  . waits"
    return "\n".join([*lines, f"  {'seconds':<8} {ticks.rstrip()}", f"  GPUs: {legend}"])


def svg_panel(title, results, start_s, width_s, gpus_total, top):
    """One lane per job; a bar's height is its share of the cluster."""
    left, scale, lane = 70, 860 / width_s, 56
    parts = [f'<text x="10" y="{top + 16}" font-weight="bold">{escape(title)}</text>']
    for row, result in enumerate(results):
        base = top + 28 + (row + 1) * lane
        parts.append(f'<text x="10" y="{base - 8}">{escape(result.name)}</text>')
        x0, x1 = (left + scale * (t - start_s) for t in (result.submit_s, result.end_s))
        parts.append(f'<line x1="{x0:.1f}" y1="{base}" x2="{x1:.1f}" y2="{base}" stroke="#888" stroke-dasharray="3 3"/>')
        for phase in result.phases:
            height = (lane - 10) * phase.gpus / gpus_total
            x, width = left + scale * (phase.begin_s - start_s), max(1.0, scale * (phase.end_s - phase.begin_s))
            parts.append(f'<rect x="{x:.1f}" y="{base - height:.1f}" width="{width:.1f}" height="{height:.1f}" '
                         f'fill="{COLOURS[row % len(COLOURS)]}"/>')
            parts.append(f'<text x="{x + 2:.1f}" y="{base - height - 2:.1f}" font-size="10">{phase.gpus}</text>')
    bottom = top + 28 + len(results) * lane
    for second in range(0, int(width_s) + 1, 20):
        x = left + scale * second
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" font-size="10">{second} s</text>')
    return parts, bottom + 40


def svg(panels, gpus_total):
    """panels: a list of (title, results, start_s)"""
    width_s = max(result.end_s - start_s for _, results, start_s in panels for result in results)
    parts, top = [], 0
    for title, results, start_s in panels:
        more, top = svg_panel(title, results, start_s, width_s, gpus_total, top)
        parts += more
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="960" height="{top}" font-family="sans-serif" '
            f'font-size="13">\n<rect width="960" height="{top}" fill="white"/>')
    return "\n".join([head, *parts, "</svg>\n"])
