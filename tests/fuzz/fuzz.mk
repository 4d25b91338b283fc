# SPDX-License-Identifier: BSD-3-Clause
# Fuzz targets, one per parser. `make check` replays the corpus. `make fuzz` tries new inputs for FUZZ_SECONDS
# each (best in a build with --enable-sanitize=fuzzer CXX=clang++).
fuzz_targets = \
	tests/fuzz/flag tests/fuzz/intent tests/fuzz/telemetry tests/fuzz/journal \
	tests/fuzz/channel tests/fuzz/profile \
	tests/fuzz/manifest tests/fuzz/shard tests/fuzz/notes tests/fuzz/settings \
	tests/fuzz/rendezvous tests/fuzz/handshake
if HAVE_TOOL_HEADERS
fuzz_targets += tests/fuzz/pollux tests/fuzz/elasticflow tests/fuzz/swf tests/fuzz/sacct \
	tests/fuzz/event
if HAVE_YAML
fuzz_targets += tests/fuzz/scenario
endif
endif
if HAVE_SLURM
fuzz_targets += tests/fuzz/spank_environment tests/fuzz/gpu_tres
if HAVE_YAML
fuzz_targets += tests/fuzz/facts tests/fuzz/yaml
endif
endif

if HAVE_LIBFUZZER
fuzz_main =
else
fuzz_main = tests/fuzz/driver.cpp
endif
FUZZ_SECONDS = 60
FUZZ_RUNS = -1

check_PROGRAMS += $(fuzz_targets)
TESTS += tests/fuzz/replay
EXTRA_DIST += tests/fuzz/replay tests/fuzz/run tests/fuzz/corpus tests/fuzz/driver.cpp
AM_TESTS_ENVIRONMENT = FUZZ_TARGETS='$(fuzz_targets)'; export FUZZ_TARGETS;

fuzz: $(fuzz_targets)
	FUZZ_TARGETS='$(fuzz_targets)' FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_RUNS=$(FUZZ_RUNS) $(srcdir)/tests/fuzz/run

tests_fuzz_flag_SOURCES = tests/fuzz/flag.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_flag_LDADD = librecords.la
tests_fuzz_flag_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_intent_SOURCES = tests/fuzz/intent.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_intent_LDADD = librecords.la
tests_fuzz_intent_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_telemetry_SOURCES = tests/fuzz/telemetry.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_telemetry_LDADD = librecords.la
tests_fuzz_telemetry_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_channel_SOURCES = tests/fuzz/channel.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_channel_LDADD = librecords.la
tests_fuzz_channel_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_journal_SOURCES = tests/fuzz/journal.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_journal_LDADD = libcontroller.la
tests_fuzz_journal_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_profile_SOURCES = tests/fuzz/profile.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_profile_LDADD = libbucketing.la
tests_fuzz_profile_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_manifest_SOURCES = tests/fuzz/manifest.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_manifest_LDADD = libruntime.la libbase.la
tests_fuzz_manifest_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_shard_SOURCES = tests/fuzz/shard.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_shard_LDADD = libruntime.la libbase.la
tests_fuzz_shard_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_notes_SOURCES = tests/fuzz/notes.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_notes_LDADD = libruntime.la libbase.la libgradients.la libbucketing.la libpolicy.la
tests_fuzz_notes_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_settings_SOURCES = tests/fuzz/settings.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_settings_LDADD = libruntime.la libbase.la
tests_fuzz_settings_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_rendezvous_SOURCES = tests/fuzz/rendezvous.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_rendezvous_LDADD = libcollective.la libbase.la
tests_fuzz_rendezvous_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_handshake_SOURCES = tests/fuzz/handshake.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_handshake_LDADD = libcollective.la libbase.la
tests_fuzz_handshake_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_pollux_SOURCES = tests/fuzz/pollux.cpp tests/fuzz/fuzz.h $(fuzz_main) tests/fuzz/jobs.h
tests_fuzz_pollux_LDADD = libsim.la
tests_fuzz_pollux_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_elasticflow_SOURCES = tests/fuzz/elasticflow.cpp tests/fuzz/fuzz.h $(fuzz_main) tests/fuzz/jobs.h
tests_fuzz_elasticflow_LDADD = libsim.la
tests_fuzz_elasticflow_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_swf_SOURCES = tests/fuzz/swf.cpp tests/fuzz/fuzz.h $(fuzz_main) tests/fuzz/jobs.h
tests_fuzz_swf_LDADD = libsim.la
tests_fuzz_swf_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_sacct_SOURCES = tests/fuzz/sacct.cpp tests/fuzz/fuzz.h $(fuzz_main) tests/fuzz/jobs.h
tests_fuzz_sacct_LDADD = libsim.la
tests_fuzz_sacct_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_event_SOURCES = tests/fuzz/event.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_event_LDADD = libringstat.la
tests_fuzz_event_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_yaml_SOURCES = tests/fuzz/yaml.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_yaml_CPPFLAGS = $(AM_CPPFLAGS) $(YAML_CFLAGS)
tests_fuzz_yaml_LDADD = libyamloptions.la libcontroller.la $(YAML_LIBS)
tests_fuzz_yaml_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_facts_SOURCES = tests/fuzz/facts.cpp tests/fuzz/fuzz.h $(fuzz_main)
tests_fuzz_facts_LDADD = libringrtd.la librecords.la
tests_fuzz_facts_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_gpu_tres_SOURCES = tests/fuzz/gpu_tres.cpp tests/fuzz/fuzz.h $(fuzz_main) \
	slurm_plugin/slurm/cluster/gpu_tres.cpp slurm_plugin/slurm/cluster/gpu_tres.h
tests_fuzz_gpu_tres_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_fuzz_gpu_tres_LDADD =
tests_fuzz_gpu_tres_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_spank_environment_SOURCES = tests/fuzz/spank_environment.cpp tests/fuzz/fuzz.h $(fuzz_main) \
	slurm_plugin/slurm/cluster/gpu_tres.cpp slurm_plugin/slurm/cluster/gpu_tres.h \
	slurm_plugin/slurm/job_submit/start_size.cpp slurm_plugin/slurm/job_submit/start_size.h \
	slurm_plugin/slurm/job_submit/submit_check.cpp slurm_plugin/slurm/job_submit/submit_check.h
tests_fuzz_spank_environment_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_fuzz_spank_environment_LDADD = librecords.la
tests_fuzz_spank_environment_LDFLAGS = $(FUZZ_LDFLAGS)

tests_fuzz_scenario_SOURCES = tests/fuzz/scenario.cpp tests/fuzz/fuzz.h $(fuzz_main) tests/fuzz/jobs.h
tests_fuzz_scenario_LDADD = libsim.la
tests_fuzz_scenario_LDFLAGS = $(FUZZ_LDFLAGS)
