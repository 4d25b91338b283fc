# SPDX-License-Identifier: BSD-3-Clause
"""The tables of tests/netns/train: GBPS FILE prints one run, --sum FILE... judges all of them."""
import json
import os
import sys

OFF = 0.10  # a time farther from its prediction is wrong
TIE = 0.02  # rules whose predictions are closer have no order


def swapped(rules):
    """Pairs whose measured order differs from the predicted one."""
    pairs = [(a, b) for a in rules for b in rules if a["predicted_ms"] * (1 + TIE) < b["predicted_ms"]]
    return len(pairs), [(a, b) for a, b in pairs if a["measured_ms"] > b["measured_ms"]]


def error(rule):
    return rule["measured_ms"] / rule["predicted_ms"] - 1


def show(gbps, run):
    rules = run["rules"]
    print(f"\n{os.path.basename(run['profile'])}, {run['ranks']} ranks, links of {gbps} Gb/s: measured "
          f"{run['gbps']:.2f} Gb/s, alpha {run['alpha_us']:.0f} us; bound {run['bound_ms']:.0f} ms")
    for title, text in [("", lambda r: r["rule"]), ("predicted ms", lambda r: f"{r['predicted_ms']:.0f}"),
                        ("measured ms", lambda r: f"{r['measured_ms']:.0f}"),
                        ("error %", lambda r: f"{100 * error(r):+.1f}"),
                        ("exchange CPU ms", lambda r: f"{r['cpu_ms']:.1f}")]:
        print(f"{title:16}" + "".join(f"{text(r):>11}" for r in rules))
    pairs, wrong = swapped(rules)
    print(f"{sum(abs(error(r)) <= OFF for r in rules)} of {len(rules)} within 10 %; "
          f"{pairs - len(wrong)} of {pairs} pairs in the predicted order"
          + "".join(f"; {a['rule']} {a['measured_ms']:.0f} after {b['rule']} {b['measured_ms']:.0f}"
                    for a, b in wrong), flush=True)


def judge(runs):
    errors = [abs(error(r)) for run in runs for r in run["rules"]]
    orders = [swapped(run["rules"]) for run in runs]
    pairs, wrong = sum(n for n, _ in orders), sum(len(w) for _, w in orders)
    near = sum(e <= OFF for e in errors)
    print(f"\n{near} of {len(errors)} times within 10 % of the prediction, worst {100 * max(errors):.1f} %; "
          f"{pairs - wrong} of {pairs} pairs of rules in the predicted order")
    return near == len(errors) and wrong == 0


runs = [json.load(open(name, encoding="utf-8")) for name in sys.argv[2:]]
if sys.argv[1] == "--sum":
    sys.exit(not judge(runs))
show(sys.argv[1], runs[0])
