# SPDX-License-Identifier: BSD-3-Clause
"""Tests the demo's accounting. Prints TAP."""
import dataclasses
import io
import json
import os
import sys
import tempfile
import xml.dom.minidom

import chart
import gpu_time
import jobs as demo_jobs
import result as demo_result
import slurm
import steplog
import summary
from screen import Screen

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


def result(state="COMPLETED", lost=0, samples=0, accuracy=0.97, sizes=(1, 2, 4, 2, 1), gaps=(2.0,), end_s=150.0, restarts=0):
    phases = [steplog.Phase(gpus, 100.0 + i, 100.5 + i) for i, gpus in enumerate(sizes)]
    return demo_result.Result("a", 1, state, 100.0, end_s, restarts, [], phases, list(gaps), [], 0, lost, samples, accuracy)


def way(name, *results):
    return demo_result.Way(name, 100.0, list(results) or [result()])


def complaints(broken="requeue", **changes):
    ways = [way(name, result(**changes)) if name == broken else way(name) for name in ("stock", "requeue", "live")]
    return list(summary.broken_promises(ways))


def test_without_a_run_by_requeue_the_others_keep_their_promises():
    stock = way("stock")
    assert list(summary.broken_promises([stock, way("live")])) == []
    assert len(list(summary.broken_promises([stock, way("live", result(lost=1))]))) == 1
    assert set(summary.as_json([stock, way("live")], [])) == {"stock", "live", "broken_promises"}


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
    stock, other = (way("stock", dataclasses.replace(result(), rows=theirs)),
                    way("live", dataclasses.replace(result(), rows=ours)))
    assert list(summary.broken_resizes(other, stock))


def test_torn_lines_are_no_steps():
    assert steplog.parse_row("12,1.0,0.5,4,0,17") is None
    assert steplog.parse_row("step,epoch,loss,gpus,restart,time_s\n") is None
    assert steplog.parse_row("12,1.0,0.5,4,0,17.5\n").gpus == 4


def test_a_phase_ends_with_a_restart_or_another_size():
    phases = steplog.phases(rows((1, 10, 1), (11, 22, 4)))
    assert [(p.gpus, p.start_s, p.end_s, p.steps) for p in phases] == [(1, 100, 109, 10), (4, 119, 130, 12)]
    in_place = [steplog.Row(step, 1.0, 1 if step < 5 else 2, 0, 100.0 + step) for step in range(1, 10)]
    assert [(p.gpus, p.steps) for p in steplog.phases(in_place)] == [(1, 4), (2, 5)]


def test_a_pause_is_what_a_resize_adds_to_a_step():
    assert steplog.pauses_s(steplog.phases(rows((1, 10, 1), (11, 22, 4)))) == [9.0]
    assert steplog.pauses_s(steplog.phases(rows((1, 22, 4)))) == []


def every_second(first_s, last_s, gpus):
    return [(float(time_s), gpus) for time_s in range(first_s, last_s)]


def test_a_job_of_one_size_has_no_idle_gpus():
    assert gpu_time.idle_share([gpu_time.of(steplog.phases(rows((1, 22, 4))), every_second(90, 130, 4))]) == 0


def test_gpus_between_two_runs_are_idle():
    phases = steplog.phases(rows((1, 10, 2), (11, 20, 4)))  # steps end at 100..109 and 119..128
    use = gpu_time.of(phases, every_second(90, 110, 2) + every_second(110, 118, 0) + every_second(118, 140, 4))
    assert (use.computed_s, use.held_s) == (2 * 9 + 4 * 10, 2 * 9.5 + 4 * 18.5)


def test_gpus_of_an_extension_that_has_not_joined_are_idle():
    phases = steplog.phases([steplog.Row(step, 1.0, 2 if step <= 10 else 4, 0, 100.0 + step) for step in range(1, 21)])
    use = gpu_time.of(phases, every_second(90, 106, 2) + every_second(106, 130, 4))
    assert (use.computed_s, use.held_s) == (2 * 9 + 4 * 10, 2 * 4.5 + 4 * 14.5)


def test_extensions_count_for_their_training():
    assert slurm.parse_held("base gres:gpu:2\nbase+1 gres/gpu:2 \nbase+2 gpu:4\nfirst gres:gpu\n") == {"base": 8, "first": 1}


def test_all_promises_kept():
    assert complaints() == []


def test_every_broken_promise_is_told():
    for changes in ({"state": "FAILED"}, {"lost": 1}, {"samples": 1}, {"samples": -1}, {"accuracy": 0.9},
                    {"sizes": (1, 2, 4, 8, 16)}, {"sizes": (16, 8, 4, 2, 1)}, {"sizes": (1, 2, 1)},
                    {"gaps": ()}, {"gaps": (2, 30.1)}):
        assert len(complaints(**changes)) == 1, changes
    assert len(complaints("live", restarts=1)) == len(complaints("live", sizes=(1, 2, 1))) == 1
    assert complaints("requeue", restarts=4) == complaints("live", gaps=()) == complaints("stock", sizes=(4,)) == []
    assert len(complaints("stock", lost=1)) == 1


def test_the_json_has_the_promised_schema():
    told = summary.as_json([way("stock", result(end_s=200.0)), way("requeue"), way("live")], [])
    job = json.loads(json.dumps(told))["live"]["jobs"][0]
    assert {"id", "state", "resizes", "restarts", "pauses_s", "lost_steps", "accuracy", "jct_s"} <= set(job)
    assert [told[name]["mean_jct_s"] for name in ("stock", "requeue", "live")] == [100.0, 50.0, 50.0]


def test_the_totals_say_more_or_less():
    stock = way("stock", result(end_s=120.0))
    assert summary.totals(way("live", result(end_s=110.0)), stock)[-1][1] == "10.0 s (50% less)"
    assert summary.totals(way("live", result(end_s=130.0)), stock)[-1][1] == "30.0 s (50% more)"


def test_a_run_is_read_back():
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "run.json"), "w", encoding="utf-8") as file:
            json.dump({"start_s": 90, "jobs": [{"name": "a", "id": 7, "state": "COMPLETED", "submit_s": 99,
                                                "end_s": 131, "restarts": 1}],
                       "held": [[99, {"a": 1}], [125, {"a": 4}]]}, file)
        with open(os.path.join(directory, "a.csv"), "w", encoding="utf-8") as file:
            for row in rows((1, 10, 1), (11, 22, 4)):
                file.write(f"{row.step},0,1.0,{row.gpus},{row.restart},{row.time_s}\n")
        with open(os.path.join(directory, "malleable_events.jsonl"), "w", encoding="utf-8") as file:
            file.write('{"job": 7, "event": "resized", "gap_s": 2.5}\n{"job": 8, "event": "resized", "gap_s": 9}\n{"jo')
        read = demo_result.load("requeue", directory, [JOB])
        one = read.results[0]
        assert (read.start_s, one.sizes, one.gaps_s, one.lost_steps, one.jct_s) == (90, [1, 4], [2.5], 0, 32)
        assert one.pauses_s == [9] and one.lost_samples == -1 and one.accuracy == 0 and one.use.held_s > 0


def test_charts_show_every_job():
    text = chart.terminal_chart([result(), result()], 100, 150, columns=50, utf8=False)
    assert "1" in text and "4" in text and "." in text
    xml.dom.minidom.parseString(chart.svg([("<&>", [result()], 100)], 16))


def test_the_screen_prints_changes_only_where_there_is_no_terminal():
    out = io.StringIO()
    screen = Screen(16, out)
    for gpus in (1, 1, 2):
        screen.show(1.0, [("a", gpus, "running", 3, 22)])
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
