# SPDX-License-Identifier: BSD-3-Clause
"""The demo's accounting. Prints TAP."""
import dataclasses
import io
import json
import os
import sys
import tempfile
import xml.dom.minidom

import chart
import jobs as demo_jobs
import result as demo_result
import steplog
import summary
from live import Live

JOB = demo_jobs.Job("a", 0, 1, 8, 4, 1, 1)  # 22 steps


def rows(*runs):
    """runs: (first step, last step, gpus); 1 s a step, 10 s between runs."""
    time_s, out = 100.0, []
    for restart, (first, last, gpus) in enumerate(runs):
        for step in range(first, last + 1):
            out.append(steplog.Row(step, 1.0, gpus, restart, time_s))
            time_s += 1
        time_s += 9
    return out


def result(state="COMPLETED", lost=0, samples=0, accuracy=0.97, sizes=(1, 2, 4, 2, 1), gaps=(2.0,), end_s=150.0):
    phases = [steplog.Phase(gpus, 100.0 + i, 100.5 + i) for i, gpus in enumerate(sizes)]
    return demo_result.Result("a", 1, state, 100.0, end_s, 0, [], phases, list(gaps), [], 0, lost, samples, accuracy)


def complaints(**changes):
    return list(summary.broken_promises([result(**changes)], [result()]))


def test_a_clean_run_loses_nothing():
    assert steplog.lost_steps(rows((1, 10, 1), (11, 22, 4)), 22) == 0


def test_a_repeated_step_is_lost():
    assert steplog.lost_steps(rows((1, 10, 1), (8, 22, 4)), 22) == 3


def test_a_missing_step_is_lost():
    assert steplog.lost_steps(rows((1, 10, 1), (13, 22, 4)), 22) == 2
    assert steplog.lost_steps([], 22) == 22


def test_loss_curves_are_compared_step_by_step():
    ours, theirs = rows((1, 10, 1), (11, 22, 4)), rows((1, 22, 4))
    assert steplog.loss_difference(ours, theirs) == 0
    ours[15].loss = 1.5
    assert steplog.loss_difference(ours, theirs) == 0.5
    assert list(summary.broken_promises([dataclasses.replace(result(), rows=ours)],
                                        [dataclasses.replace(result(), rows=theirs)]))


def test_torn_lines_are_no_steps():
    assert steplog.parse_row("12,1.0,0.5,4,0,17") is None
    assert steplog.parse_row("step,epoch,loss,gpus,restart,time_s\n") is None
    assert steplog.parse_row("12,1.0,0.5,4,0,17.5\n").gpus == 4


def test_phases_are_incarnations():
    phases = steplog.phases(rows((1, 10, 1), (11, 22, 4)))
    assert [(p.gpus, p.start_s, p.end_s) for p in phases] == [(1, 100, 109), (4, 119, 130)]


def test_all_promises_kept():
    assert complaints() == []


def test_every_broken_promise_is_told():
    for changes in ({"state": "FAILED"}, {"lost": 1}, {"samples": 1}, {"samples": -1}, {"accuracy": 0.9},
                    {"sizes": (1, 2, 4, 8, 16)}, {"sizes": (16, 8, 4, 2, 1)}, {"sizes": (1, 2, 1)},
                    {"gaps": ()}, {"gaps": (2, 5.1)}):
        assert len(complaints(**changes)) == 1, changes


def test_the_json_has_the_promised_schema():
    told = summary.as_json([result()], [result(end_s=200.0)], [])
    job = json.loads(json.dumps(told))["jobs"][0]
    assert {"id", "state", "resizes", "gaps_s", "lost_steps", "accuracy", "jct_s"} <= set(job)
    assert told["mean_jct_s"] == {"malleable": 50.0, "fixed": 100.0}


def test_a_run_is_read_back():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
            json.dump({"start_s": 90, "jobs": [{"name": "a", "id": 7, "state": "COMPLETED", "submit_s": 99,
                                                "end_s": 131, "restarts": 1}]}, file)
        with open(os.path.join(folder, "a.csv"), "w", encoding="utf-8") as file:
            for row in rows((1, 10, 1), (11, 22, 4)):
                file.write(f"{row.step},0,1.0,{row.gpus},{row.restart},{row.time_s}\n")
        with open(os.path.join(folder, "malleable_events.jsonl"), "w", encoding="utf-8") as file:
            file.write('{"job": 7, "event": "resized", "gap_s": 2.5}\n{"job": 8, "event": "resized", "gap_s": 9}\n{"jo')
        start_s, (one,) = demo_result.load(folder, [JOB])
        assert (start_s, one.sizes, one.gaps_s, one.lost_steps, one.jct_s) == (90, [1, 4], [2.5], 0, 32)
        assert one.step_gaps_s == [10] and one.lost_samples == -1 and one.accuracy == 0


def test_charts_show_every_job():
    text = chart.terminal_chart([result(), result()], 100, 150, columns=50, utf8=False)
    assert "1" in text and "4" in text and "." in text
    xml.dom.minidom.parseString(chart.svg([("<&>", [result()], 100)], 16))


def test_the_live_view_prints_changes_only_where_there_is_no_terminal():
    out = io.StringIO()
    live = Live(16, out)
    for gpus in (1, 1, 2):
        live.show(1.0, [("a", gpus, "running", 3, 22)])
    assert out.getvalue().count("\n") == 2 and "\x1b" not in out.getvalue()


def main():
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    failed = 0
    print(f"1..{len(tests)}")
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {name}")
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {name}: {type(error).__name__} {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
