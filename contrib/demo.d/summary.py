# SPDX-License-Identifier: BSD-3-Clause
"""Summarizes the three runs: a table, a chart, SVG, JSON. Exit status 1: a job failed, or a promise is broken."""
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


def broken_promises(stock, requeue, live):
    for way in (stock, requeue, live):
        yield from broken_jobs(way)
    for way in (requeue, live):
        yield from broken_resizes(way, stock)
    yield from broken_gaps(requeue)


def largest_loss_difference(way, stock):
    return max(steplog.loss_difference(ours.rows, theirs.rows) for ours, theirs in zip(way.results, stock.results))


def print_jobs(stock, requeue, live):
    print(f"  {'JOB':<8} {'GPUS OVER TIME, IN PLACE':<26} {'RESIZES':>7} {'LOST':>5} {'ACCURACY':>8} "
          f"{'STOCK':>8} {'REQUEUE':>8} {'IN PLACE':>8}")
    for fixed, requeued, result in zip(stock.results, requeue.results, live.results):
        sizes = "→".join(map(str, result.sizes))
        print(f"  {result.name:<8} {sizes:<26} {len(result.changes):>7} {result.lost_steps:>5} {result.accuracy:>8.1%} "
              f"{fixed.jct_s:>6.1f} s {requeued.jct_s:>6.1f} s {result.jct_s:>6.1f} s")


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


def print_totals(stock, requeue, live):
    ways = (stock, requeue, live)
    print(f"\n  {'':<22}" + "".join(f" {TITLES[way.name]:>23}" for way in ways))
    for lines in zip(*(totals(way, stock) for way in ways)):
        print(f"  {lines[0][0]:<22}" + "".join(f" {text:>23}" for _, text in lines))
    print("\n  paused: at a resize, median and longest, by the training's own step log; idle: of the GPU time that"
          "\n  the jobs held between their first and last step")


def as_json(stock, requeue, live, broken):
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
                "loss_difference": largest_loss_difference(one, stock), "jobs": [job(result) for result in one.results]}
    return {**{one.name: way(one) for one in (stock, requeue, live)}, "broken_promises": broken}


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("jobs", "stock", "requeue", "live"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--svg")
    parser.add_argument("--json")
    options = parser.parse_args()
    jobs = demo_jobs.load(options.jobs)
    stock, requeue, live = (demo_result.load(name, getattr(options, name), jobs) for name in ("stock", "requeue", "live"))
    utf8 = (sys.stdout.encoding or "").lower().startswith("utf")
    print(chart.terminal_chart(live.results, live.start_s, max(r.end_s for r in live.results), utf8=utf8))
    print()
    print_jobs(stock, requeue, live)
    print_totals(stock, requeue, live)
    broken = list(broken_promises(stock, requeue, live))
    if options.svg:
        write(options.svg, chart.svg([(TITLES[way.name], way.results, way.start_s) for way in (live, requeue, stock)], 16))
    if options.json:
        write(options.json, json.dumps(as_json(stock, requeue, live, broken), indent=1) + "\n")
    for line in broken:
        print(f"demo: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
