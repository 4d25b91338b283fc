# SPDX-License-Identifier: BSD-3-Clause
# The policies that malleable.yaml may name: file names without .cpp. make compiles them, and
# policy_lookup.cpp finds them. To add a policy: its file and one line here (doc/policies.md).
policies =
policies += slurm_plugin/policy/doubling
