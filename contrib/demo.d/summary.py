# SPDX-License-Identifier: BSD-3-Clause
"""Sums the malleable and the fixed run up: a table, a chart, SVG and JSON. Exit status 1: a job
failed, or a promise is broken."""
import argparse
import json
import os
import sys

import chart
import jobs as demo_jobs
import result as demo_result
import steplog

GAP_LIMIT_S = 5.0
ACCURACY_LIMIT = 0.95
LOSS_LIMIT = 1e-4  # of the loss: sums over ranks differ by rounding, which depends on their number


def broken_promises(malleable, fixed):
    changes = [change for result in malleable for change in result.changes]
    gaps = [gap for result in malleable for gap in result.gaps_s]
    for result in [*malleable, *fixed]:
        if result.state != "COMPLETED":
            yield f"job {result.id} ({result.name}) ended {result.state}"
        if result.lost_steps:
            yield f"job {result.id} ({result.name}) lost {result.lost_steps} steps"
        if result.lost_samples:
            yield f"job {result.id} ({result.name}) lost samples, or saw some twice ({result.lost_samples})"
        if result.accuracy < ACCURACY_LIMIT:
            yield f"job {result.id} ({result.name}) reached {result.accuracy:.1%}, not {ACCURACY_LIMIT:.0%}"
    if len(changes) < 4 or not any(c > 0 for c in changes) or not any(c < 0 for c in changes):
        yield f"{len(changes)} resizes: expected at least 4, in both directions"
    if largest_loss_difference(malleable, fixed) > LOSS_LIMIT:
        yield f"the loss curves of resized and fixed jobs differ by {largest_loss_difference(malleable, fixed):.1e}"
    if not gaps:
        yield "the event log tells of no resize"
    elif max(gaps) > GAP_LIMIT_S:
        yield f"a gap of {max(gaps):.1f} s from signal to running again: expected at most {GAP_LIMIT_S:.0f} s"


def largest_loss_difference(malleable, fixed):
    return max(steplog.loss_difference(ours.rows, theirs.rows) for ours, theirs in zip(malleable, fixed))


def mean(values):
    return f"{sum(values) / len(values):.1f}" if values else "-"


def print_table(malleable, fixed, jobs):
    print(f"  {'JOB':<8} {'GPUS OVER TIME':<24} {'RESIZES':>7} {'GAP S':>6} {'LOST':>5} {'ACCURACY':>8} "
          f"{'MALLEABLE':>10} {'FIXED':>12}")
    for job, result, other in zip(jobs, malleable, fixed):
        sizes = "→".join(map(str, result.sizes))
        print(f"  {result.name:<8} {sizes:<24} {len(result.changes):>7} {mean(result.gaps_s):>6} "
              f"{result.lost_steps:>5} {result.accuracy:>8.1%} {result.jct_s:>8.1f} s "
              f"{other.jct_s:>6.1f} s ×{job.gpus_fixed}")


def print_totals(malleable, fixed):
    gaps = [gap for result in malleable for gap in result.gaps_s]
    pauses = [gap for result in malleable for gap in result.step_gaps_s]
    grown = sum(change > 0 for result in malleable for change in result.changes)
    shrunk = sum(change < 0 for result in malleable for change in result.changes)
    print(f"\n  resizes                        {grown + shrunk} ({grown} grew, {shrunk} shrank), "
          f"{sum(result.called_off for result in malleable)} called off")
    if gaps:
        print(f"  signal to running again        mean {mean(gaps)} s, longest {max(gaps):.1f} s")
    if pauses:
        print(f"  last step to first step after  mean {mean(pauses)} s, longest {max(pauses):.1f} s")
    print(f"  steps lost                     {sum(result.lost_steps for result in malleable)}")
    print(f"  loss curves, resized or fixed  differ by at most {largest_loss_difference(malleable, fixed):.1e} of the loss")
    ours, theirs = demo_result.mean_jct_s(malleable), demo_result.mean_jct_s(fixed)
    print(f"  mean completion time           {ours:.1f} s malleable, {theirs:.1f} s fixed "
          f"({(1 - ours / theirs):+.0%} shorter)".replace("+", ""))


def as_json(malleable, fixed, broken):
    def one(result):
        return {"id": result.id, "name": result.name, "state": result.state, "resizes": len(result.changes),
                "sizes": result.sizes, "gaps_s": result.gaps_s,
                "step_gaps_s": [round(gap, 3) for gap in result.step_gaps_s],
                "lost_steps": result.lost_steps, "lost_samples": result.lost_samples,
                "accuracy": result.accuracy, "jct_s": round(result.jct_s, 3), "called_off": result.called_off}
    return {"jobs": [one(result) for result in malleable], "fixed_jobs": [one(result) for result in fixed],
            "mean_jct_s": {"malleable": round(demo_result.mean_jct_s(malleable), 3),
                           "fixed": round(demo_result.mean_jct_s(fixed), 3)},
            "loss_difference": largest_loss_difference(malleable, fixed), "broken_promises": broken}


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("jobs", "malleable", "fixed"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--svg")
    parser.add_argument("--json")
    options = parser.parse_args()
    jobs = demo_jobs.load(options.jobs)
    start_s, malleable = demo_result.load(options.malleable, jobs)
    fixed_start_s, fixed = demo_result.load(options.fixed, jobs)
    utf8 = (sys.stdout.encoding or "").lower().startswith("utf")
    print(chart.terminal_chart(malleable, start_s, max(r.end_s for r in malleable), utf8=utf8))
    print()
    print_table(malleable, fixed, jobs)
    print_totals(malleable, fixed)
    broken = list(broken_promises(malleable, fixed))
    if options.svg:
        write(options.svg, chart.svg([("malleable", malleable, start_s), ("fixed size", fixed, fixed_start_s)], 16))
    if options.json:
        write(options.json, json.dumps(as_json(malleable, fixed, broken), indent=1) + "\n")
    for line in broken:
        print(f"demo: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
