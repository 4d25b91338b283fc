# SPDX-License-Identifier: BSD-3-Clause
"""ringrt-messages(7) and the code agree, in both directions.

The code's messages are its string literals: every text of three words or more in libringrt,
slurm_plugin and the tools' readers, split at variable parts. The page shows each message in bold,
with <words> for a variable part. --missing prints what the page lacks.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "man/ringrt-messages.7"
DIRECTORIES = ("model", "libringrt", "slurm_plugin", "sim", "tools")
# Help texts and pictures: other pages list them.
NOT_MESSAGES = re.compile(
    r"slurm_plugin/(controller/options|policy/(registry|value|doubling)"
    r"|slurm/ringrtd/daemon_options|slurm/ringrtd/metrics_server)\.cpp"
    r"|slurm_plugin/slurm/host/metrics\.(cpp|h)|slurm_plugin/slurm/spank/srun_record\.cpp"
    r"|libringrt/(bucketing/rules|bucketing/plan|checkpoint/hash|job/signal_watch)\.cpp"
    r"|libringrt/transport/op_header\.cpp|tools/ringbench/.*|tools/.*/(main|report|chart|page|paper|paper_models|plot|scale|verdict|svg"
    r"|command_line|columns|grade|comparison|chrome_trace|options|fit"
    r"|compare|chart_svg|summary)\.cpp|tools/ringstat/when\.h"
    r"|sim/(workload/profile|engine/(policy_spec|placer))\.cpp|slurm_plugin/policy/value\.h")
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|#\s*include[^\n]*|static_assert\([^;]*;|"((?:[^"\\\n]|\\.)*)"|'
    r"(?<![0-9])'(?:[^'\\\n]|\\[^'\n]+|\\')'", re.S)  # no 999'999
# Slurm's answers, and the names of ringrt's plugins.
NOT_SAID = ("Invalid job id", "Only batch jobs", "No such file", "Malleable jobs: --malleable=MIN:MAX",
            "Malleable jobs in addition to Slurm's backfill", "systemctl reload ringrtd",
            "sched/doubling: JobId=%u %s",
            "exit status: 0 success; 1 failure; 2 usage error",
            ": (where it is by default)",
            "show the version", "show this help",
            "let the scheduler also pause the job, which saves, leaves its GPUs and continues later",
            "let the scheduler resize the job between MIN and MAX GPUs (MIN, 2 MIN, 4 MIN, ...) while it trains",
            "signal on which the job saves and requeues (default URG)",
            "how long the job may take to save before the resize is called off (default 2 minutes)")
CONVERSION = re.compile(r"%[-+ #0]*[0-9*]*(?:\.[0-9*]+)?(?:hh|h|ll|l|z|j)?[a-zA-Z]")


def unescaped(text):
    return text.replace("%%", "%").replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def literals(source):
    """String literals. Adjacent ones are joined."""
    out, end = [], None
    for match in TOKEN.finditer(source):
        if match.group(1) is None:
            continue
        if end is not None and not source[end:match.start()].strip():
            out[-1] += match.group(1)
        else:
            out.append(match.group(1))
        end = match.end()
    return out


def is_message(fragment):
    words = re.findall(r"[A-Za-z]{2,}", fragment)
    return len(words) >= 3 and " " in fragment and "{" not in fragment


def said_by_code():
    out = {}
    for directory in DIRECTORIES:
        for path in sorted((ROOT / directory).rglob("*.[ch]*")):
            name = str(path.relative_to(ROOT))
            if NOT_MESSAGES.fullmatch(name):
                continue
            for literal in literals(path.read_text(encoding="utf-8")):
                for part in CONVERSION.split(literal) if literal not in NOT_SAID else ():
                    for fragment in unescaped(part).split("\n"):
                        fragment = fragment.strip()
                        if is_message(fragment):
                            out.setdefault(fragment, name)
    return out


def shown_by_page():
    out = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r'\.B "(.*)"', line)
        if match:
            text = match.group(1).replace('""', '"').replace("\\-", "-").replace("\\e", "\\")
            out += [part.strip() for part in re.split("<[a-z ]+>", text) if is_message(part)]
    return out


def main():
    code, page = said_by_code(), shown_by_page()
    shown = "\n".join(page)
    missing = [(name, text) for text, name in code.items() if text not in shown]
    said = "\n".join(code)
    # The code that adds `, got "..."` and `FILE: ` often does not produce the rest.
    parts = [part.strip(' :;,."()') for text in page for part in text.split(', got "')]
    stale = [part for part in parts if is_message(part) and part not in said]
    if sys.argv[1:] == ["--missing"]:
        print("\n".join(f"{name}: {text}" for name, text in missing))
        return 0
    for name, text in missing:
        print(f"{name} says this, and man/ringrt-messages.7 does not list it:\n    {text}")
    for text in stale:
        print(f"man/ringrt-messages.7 lists this, and the code says it nowhere:\n    {text}")
    if not code:
        print("no messages found in the code")
    return 1 if missing or stale or not code else 0


sys.exit(main())
