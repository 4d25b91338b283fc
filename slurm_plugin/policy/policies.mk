# SPDX-License-Identifier: BSD-3-Clause
# The policies that malleable.yaml may name: files without .cpp. make compiles them, registry.cpp finds
# them. A new one is a line here and its file (doc/policies.md).
policies =
policies += slurm_plugin/policy/doubling
