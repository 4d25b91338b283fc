# SPDX-License-Identifier: BSD-3-Clause
"""What planned buckets gain: DDP's step with its own buckets and with those of ringrt.torch.plan_buckets(), on 2 ranks in
network namespaces, over a link shaped by tc tbf. Needs root, iproute2 and torch.
`measure_buckets.py [GBPS [ROUNDS [MODEL...]]]`: medians of interleaved steps, in milliseconds."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

PORT = 29500


def networks(torch):
    """Name: (network, input of one rank). Random weights; the shapes are what counts."""
    nn = torch.nn

    def convolutions(widths, repeats):
        layers, before = [], 3
        for width, repeat in zip(widths, repeats):
            layers += [nn.MaxPool2d(2)] if before > 3 else []
            for _ in range(repeat):
                layers += [nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
                before = width
        return layers + [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 100)]

    def transformer(width, layers):
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    return {
        "conv": (lambda: nn.Sequential(*convolutions((32, 64, 128, 256), (2, 2, 2, 4))), (16, 3, 32, 32)),
        "transformer": (lambda: transformer(256, 6), (4, 64, 256)),
        "perceptron": (lambda: nn.Sequential(*[one for _ in range(8) for one in (nn.Linear(768, 768), nn.ReLU())]), (256, 768)),
        "small": (lambda: nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)), (256, 256)),
        "vgg": (lambda: nn.Sequential(*convolutions((32, 64, 128), (1, 1, 2))[:-3], nn.Flatten(),
                                      nn.Linear(128 * 8 * 8, 1024), nn.ReLU(), nn.Linear(1024, 100)), (16, 3, 32, 32)),
    }


def rank_main(rounds, names):
    sys.path.insert(0, support.PACKAGE)
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import ringrt.torch
    from ringrt.torch import grouping
    torch.set_num_threads(1)
    dist.init_process_group(os.environ.get("BACKEND", "gloo"))
    leads = dist.get_rank() == 0
    every = networks(torch)
    if leads:
        link = grouping.measure_link()
        print(f"link: {link.start_s * 1e6:.0f} us and {8e-9 / max(link.byte_s, 1e-15):.2f} Gb/s of an all_reduce", flush=True)
        print("model | MB | buckets | alone ms | DDP ms | planned ms | step | exchange", flush=True)
    else:
        grouping.measure_link()
    for name in names or every:
        make, shape = every[name]
        torch.manual_seed(1)
        net, x = make(), torch.randn(*shape)
        options = ringrt.torch.plan_buckets(net, lambda: net(x).square().mean().backward())
        models = [DistributedDataParallel(net), DistributedDataParallel(make(), **options)]
        opts = [torch.optim.SGD(model.parameters(), lr=1e-4) for model in models]

        def step(which):
            opts[which].zero_grad()
            models[which](x).square().mean().backward()
            opts[which].step()

        def alone():
            with models[0].no_sync():
                step(0)

        cases = [alone, lambda: step(0), lambda: step(1)]
        times = [[] for _ in cases]
        for turn in range(rounds + 3):
            for number in range(len(cases)) if turn % 2 else reversed(range(len(cases))):
                time.sleep(0.01)  # the link's tokens come back
                dist.barrier()
                begun = time.perf_counter()
                cases[number]()
                if turn >= 3:
                    times[number].append(time.perf_counter() - begun)
        alone_ms, ddp_ms, planned_ms = (statistics.median(each) * 1e3 for each in times)
        size = sum(parameter.numel() * 4 for parameter in net.parameters()) / 2 ** 20
        if leads:
            print(f"{name} | {size:.1f} | {len(options['bucket_cap_mb_list'])} | {alone_ms:.1f} | {ddp_ms:.1f} | {planned_ms:.1f} | "
                  f"{planned_ms / ddp_ms:.3f} | {(planned_ms - alone_ms) / (ddp_ms - alone_ms):.2f}", flush=True)
    dist.destroy_process_group()


# In a mount namespace of its own, so that the network namespaces' names are nobody else's.
LINK = """set -e
mount -t tmpfs none /run/netns 2>/dev/null || { mkdir -p /run/netns; mount -t tmpfs none /run/netns; }
for r in 0 1; do ip netns add r$r; done
ip link add v0 netns r0 type veth peer name v1 netns r1
for r in 0 1; do
    ip -n r$r addr add 10.77.0.$((r + 1))/24 dev v$r
    ip -n r$r link set lo up; ip -n r$r link set v$r up
    ip netns exec r$r tc qdisc add dev v$r root tbf rate ${GBPS}gbit burst $BURST latency 50ms
done
for r in 0 1; do
    RANK=$r GLOO_SOCKET_IFNAME=v$r ip netns exec r$r "$@" & pids="$pids $!"
done
for pid in $pids; do wait $pid; done
"""


def main():
    arguments = sys.argv[1:]
    if "RANK" in os.environ:
        return rank_main(int(arguments[1]), arguments[2:])
    gbps, rounds = float(arguments[0]) if arguments else 1.0, arguments[1] if len(arguments) > 1 else "15"
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
        script.write(LINK)
        script.flush()
        return subprocess.call(
            ["unshare", "-nm", "bash", script.name, sys.executable, sys.argv[0], str(gbps), rounds, *arguments[2:]],
            env={**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": str(PORT), "GBPS": str(gbps),
                 "BURST": str(max(65536, int(gbps * 125000))), "OMP_NUM_THREADS": "1"})  # a millisecond's bytes


if __name__ == "__main__":
    sys.exit(main())
