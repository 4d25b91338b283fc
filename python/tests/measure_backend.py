# SPDX-License-Identifier: BSD-3-Clause
"""The backend "ringrt" against Gloo: medians of interleaved runs. `measure_backend.py RANKS [ROUNDS]` with the library
of RINGRT_LIBRARY; a table of microseconds per all_reduce, and of milliseconds per DDP step."""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

SIZES = [1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]  # bytes


def rank_main(rounds):
    sys.path.insert(0, support.PACKAGE)
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import ringrt.torch  # noqa: F401
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ring = dist.new_group(backend="ringrt")
    backend = ring._get_backend(torch.device("cpu"))
    leads = dist.get_rank() == 0

    def show(*columns):
        if leads:
            print(" | ".join(f"{column:>9}" for column in columns), flush=True)

    def medians(cases, repeats):
        times = {name: [] for name in cases}
        for turn in range(rounds + 1):  # the first warms up
            for name, call in cases.items():
                for _ in range(repeats):
                    dist.barrier(group=ring)
                    begun = time.perf_counter()
                    call()
                    if turn:
                        times[name].append(time.perf_counter() - begun)
        return [statistics.median(each) for each in times.values()]

    show("bytes", "gloo us", "ringrt us", "alloc us", "ratio", "ratio")
    for size in SIZES:
        private, shared = torch.zeros(size // 4), backend.allocate_tensor(size // 4)
        gloo, ours, in_place = medians({
            "gloo": lambda: dist.all_reduce(private), "ringrt": lambda: dist.all_reduce(private, group=ring),
            "alloc": lambda: dist.all_reduce(shared, group=ring)}, 20 if size <= 1 << 20 else 4)
        show(size, f"{gloo * 1e6:.0f}", f"{ours * 1e6:.0f}", f"{in_place * 1e6:.0f}", f"{gloo / ours:.2f}", f"{gloo / in_place:.2f}")

    def stepper(width, group):
        torch.manual_seed(1)
        layers = [layer for _ in range(8) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
        model = DistributedDataParallel(torch.nn.Sequential(*layers), process_group=group, gradient_as_bucket_view=True)
        opt, x = torch.optim.SGD(model.parameters(), lr=0.01), torch.randn(4, width)

        def step():
            opt.zero_grad()
            model(x).square().mean().backward()
            opt.step()

        def alone():
            with model.no_sync():
                step()

        return step, alone

    show("DDP bytes", "alone ms", "gloo ms", "ringrt ms", "exchange")
    for width in (512, 1024, 2048):
        (gloo_step, alone_step), (ring_step, _) = stepper(width, None), stepper(width, ring)
        alone, gloo, ours = medians({"alone": alone_step, "gloo": gloo_step, "ringrt": ring_step}, 3)
        show(8 * 4 * width * (width + 1), f"{alone * 1e3:.1f}", f"{gloo * 1e3:.1f}", f"{ours * 1e3:.1f}",
             f"{(ours - alone) / (gloo - alone):.2f}")
    dist.destroy_process_group()


def main():
    if "RANK" in os.environ:
        return rank_main(int(sys.argv[2]) if len(sys.argv) > 2 else 7)
    import subprocess
    size, port = int(sys.argv[1]), support.free_port()
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={
        **os.environ, "RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
        for rank in range(size)]
    return max(abs(one.wait()) for one in ranks)


if __name__ == "__main__":
    sys.exit(main())
