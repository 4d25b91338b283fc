# SPDX-License-Identifier: BSD-3-Clause
"""Each job's current GPUs: redrawn on a terminal, otherwise one line per change."""
import sys


class Screen:
    def __init__(self, gpus_total, out=sys.stdout):
        self.gpus_total, self.out = gpus_total, out
        self.terminal = out.isatty()
        utf8 = (out.encoding or "").lower().startswith("utf")
        self.full, self.empty = ("█", "·") if utf8 else ("#", ".")
        self.lines_drawn = 0
        self.last = None

    def show(self, elapsed_s, jobs):
        """jobs: a list of (name, gpus, state, step, steps)."""
        if self.terminal:
            self.redraw(elapsed_s, jobs)
            return
        sizes = "  ".join(f"{name}:{gpus or state}" for name, gpus, state, _, _ in jobs)
        if sizes != self.last:
            self.last = sizes
            print(f"{elapsed_s:6.1f} s  {sizes}", file=self.out, flush=True)

    def redraw(self, elapsed_s, jobs):
        used = sum(gpus for _, gpus, _, _, _ in jobs)
        lines = [f"{elapsed_s:6.1f} s   {used} of {self.gpus_total} GPUs in use"]
        for name, gpus, state, step, steps in jobs:
            bar = self.full * gpus + self.empty * (self.gpus_total - gpus)
            lines.append(f"  {name:<8} {bar} {gpus:3d} GPUs  {state:<9} step {step:4d}/{steps}")
        if self.lines_drawn:
            self.out.write(f"\x1b[{self.lines_drawn}A")
        self.out.write("".join(f"\x1b[2K{line}\n" for line in lines))
        self.out.flush()
        self.lines_drawn = len(lines)
