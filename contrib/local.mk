# SPDX-License-Identifier: BSD-3-Clause

# A private cluster for the demo and the tests, and the packages that they need
EXTRA_DIST += contrib/cluster contrib/cluster.d contrib/packages

# Completion for bash and zsh
EXTRA_DIST += contrib/completion/ringrt.bash contrib/completion/_ringrt

# The README's two commands
EXTRA_DIST += contrib/test contrib/test.d contrib/root contrib/get-torch contrib/demo \
	contrib/demo.d/chart.py contrib/demo.d/extension_time.py contrib/demo.d/gpu_time.py contrib/demo.d/jobs.py contrib/demo.d/jobs.tsv \
	contrib/demo.d/live.yaml contrib/demo.d/malleable.yaml contrib/demo.d/result.py contrib/demo.d/run.py \
	contrib/demo.d/screen.py contrib/demo.d/slurm.py contrib/demo.d/steplog.py contrib/demo.d/summary.py contrib/demo.d/torch.tsv

include contrib/examples.mk

if HAVE_SLURM
.PHONY: demo-programs
demo-programs: digits ringstat malleable.la job_submit_malleable.la sched_doubling.la
endif

# A profile for trying ringplan: ResNet-50's sizes, with times in proportion to the operations
EXTRA_DIST += contrib/examples/resnet50.csv

EXTRA_DIST += doc/grouping.md doc/grouping.svg
