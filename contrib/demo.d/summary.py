# SPDX-License-Identifier: BSD-3-Clause
"""Summarizes the runs, of which the one by requeue may be missing: a table, a chart, SVG, JSON. Exit status 1: a job failed, or a promise is broken."""
import argparse
import json
import os
import sys

import chart
import jobs as demo_jobs
import result as demo_result
import steplog

GAP_LIMIT_S = 30.0  # of a resize by requeue, which usually takes two to four: something hangs
ACCURACY_LIMIT = 0.95
LOSS_LIMIT = 1e-4  # of the loss: sums over ranks differ by rounding, which depends on their number
TITLES = {"stock": "stock Slurm, fixed size", "requeue": "resized by requeue", "live": "resized in place"}


def broken_jobs(way):
    for result in way.results:
        who = f"{way.name}: job {result.id} ({result.name})"
        if result.state != "COMPLETED":
            yield f"{who} ended {result.state}"
        if result.lost_steps:
            yield f"{who} lost {result.lost_steps} steps"
        if result.lost_samples:
            yield f"{who} lost samples, or saw some twice ({result.lost_samples})"
        if result.accuracy < ACCURACY_LIMIT:
            yield f"{who} reached {result.accuracy:.1%}, not {ACCURACY_LIMIT:.0%}"
        if way.name == "live" and result.restarts:
            yield f"{who} was restarted {result.restarts} times"


def broken_resizes(way, stock):
    changes = way.all_of("changes")
    if len(changes) < 4 or not any(c > 0 for c in changes) or not any(c < 0 for c in changes):
        yield f"{way.name}: {len(changes)} resizes: expected at least 4, in both directions"
    difference = largest_loss_difference(way, stock)
    if difference > LOSS_LIMIT:
        yield f"{way.name}: the loss curves of resized and fixed jobs differ by {difference:.1e}"


def broken_gaps(requeue):
    gaps = requeue.all_of("gaps_s")
    if not gaps:
        yield "requeue: the event log has no resize"
    elif max(gaps) > GAP_LIMIT_S:
        yield f"requeue: {max(gaps):.1f} s from signal to running again: expected at most {GAP_LIMIT_S:.0f} s"


def broken_promises(ways):
    for way in ways:
        yield from broken_jobs(way)
        if way.name != "stock":
            yield from broken_resizes(way, ways[0])
        if way.name == "requeue":
            yield from broken_gaps(way)


def largest_loss_difference(way, stock):
    return max(steplog.loss_difference(ours.rows, theirs.rows) for ours, theirs in zip(way.results, stock.results))


def print_jobs(ways):
    names = {"stock": "STOCK", "requeue": "REQUEUE", "live": "IN PLACE"}
    print(f"  {'JOB':<8} {'GPUS OVER TIME, IN PLACE':<26} {'RESIZES':>7} {'LOST':>5} {'ACCURACY':>8} "
          + " ".join(f"{names[way.name]:>8}" for way in ways))
    for results in zip(*(way.results for way in ways)):
        result, sizes = results[-1], "→".join(map(str, results[-1].sizes))
        print(f"  {result.name:<8} {sizes:<26} {len(result.changes):>7} {result.lost_steps:>5} {result.accuracy:>8.1%} "
              + " ".join(f"{one.jct_s:>6.1f} s" for one in results))


def seconds(value):
    return f"{value:.1f} s" if value >= 1 else f"{value * 1000:.0f} ms"


def pause_text(way):
    pauses = sorted(way.all_of("pauses_s"))
    return f"{seconds(pauses[len(pauses) // 2])}, {seconds(pauses[-1])}" if pauses else "-"


def resizes_text(way):
    changes = way.all_of("changes")
    return f"{len(changes)} ({sum(c > 0 for c in changes)} up, {sum(c < 0 for c in changes)} down)" if changes else "-"


def totals(way, stock):
    """(what, text)"""
    saved = 1 - way.mean_jct_s / stock.mean_jct_s
    shorter = "" if way is stock else f" ({abs(saved):.0%} {'less' if saved >= 0 else 'more'})"
    return [("resizes", resizes_text(way)),
            ("training paused", pause_text(way)),
            ("GPUs idle for resizes", f"{way.idle_share:.1%}"),
            ("steps lost", str(way.sum_of("lost_steps"))),
            ("loss differs by", "-" if way is stock else f"{largest_loss_difference(way, stock):.1e}"),
            ("mean completion time", f"{way.mean_jct_s:.1f} s{shorter}")]


def print_totals(ways):
    print(f"\n  {'':<22}" + "".join(f" {TITLES[way.name]:>23}" for way in ways))
    for lines in zip(*(totals(way, ways[0]) for way in ways)):
        print(f"  {lines[0][0]:<22}" + "".join(f" {text:>23}" for _, text in lines))
    print("\n  paused: at a resize, median and longest, by the training's own step log; idle: of the GPU time that"
          "\n  the jobs held between their first and last step")


def as_json(ways, broken):
    def job(result):
        return {"id": result.id, "name": result.name, "state": result.state, "resizes": len(result.changes),
                "sizes": result.sizes, "restarts": result.restarts, "gaps_s": result.gaps_s,
                "pauses_s": [round(pause, 3) for pause in result.pauses_s],
                "lost_steps": result.lost_steps, "lost_samples": result.lost_samples,
                "accuracy": result.accuracy, "jct_s": round(result.jct_s, 3), "called_off": result.called_off,
                "held_gpu_s": round(result.use.held_s, 3),
                "computed_gpu_s": round(result.use.computed_s, 3)}

    def way(one):
        return {"mean_jct_s": round(one.mean_jct_s, 3), "idle_share": round(one.idle_share, 4),
                "loss_difference": largest_loss_difference(one, ways[0]), "jobs": [job(result) for result in one.results]}
    return {**{one.name: way(one) for one in ways}, "broken_promises": broken}


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("jobs", "stock", "live"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--requeue")
    parser.add_argument("--gpus-total", type=int, default=16)
    parser.add_argument("--svg")
    parser.add_argument("--json")
    options = parser.parse_args()
    jobs = demo_jobs.load(options.jobs)
    ways = [demo_result.load(name, getattr(options, name), jobs) for name in ("stock", "requeue", "live")
            if getattr(options, name)]
    live = ways[-1]
    utf8 = (sys.stdout.encoding or "").lower().startswith("utf")
    print(chart.terminal_chart(live.results, live.start_s, max(r.end_s for r in live.results), utf8=utf8))
    print()
    print_jobs(ways)
    print_totals(ways)
    broken = list(broken_promises(ways))
    if options.svg:
        write(options.svg, chart.svg([(TITLES[way.name], way.results, way.start_s) for way in reversed(ways)],
                                     options.gpus_total))
    if options.json:
        write(options.json, json.dumps(as_json(ways, broken), indent=1) + "\n")
    for line in broken:
        print(f"demo: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
