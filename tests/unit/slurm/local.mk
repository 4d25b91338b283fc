# SPDX-License-Identifier: BSD-3-Clause
# The parts of slurm_plugin/slurm that need no Slurm, and SlurmCluster with the test's own functions in place
# of libslurm's.
if HAVE_SLURM
slurm_tests = \
	tests/unit/slurm/test_allowed_minutes \
	tests/unit/slurm/test_allowed_size \
	tests/unit/slurm/test_slurm_cluster \
	tests/unit/slurm/test_slurm_updates \
	tests/unit/slurm/test_slurm_records \
	tests/unit/slurm/test_srun_record \
	tests/unit/slurm/test_start_size \
	tests/unit/slurm/test_step_variables
check_PROGRAMS += $(slurm_tests)
TESTS += $(slurm_tests)

tests_unit_slurm_test_allowed_minutes_SOURCES = tests/unit/slurm/test_allowed_minutes.cpp tests/unit/slurm/limited_site.h \
	tests/support/check.h
tests_unit_slurm_test_allowed_minutes_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_allowed_minutes_LDADD = libslurmcluster.la libcontroller.la $(SLURM_LIBS) $(CHECK_LIBS)
tests_unit_slurm_test_allowed_size_SOURCES = tests/unit/slurm/test_allowed_size.cpp tests/unit/slurm/limited_site.h \
	tests/support/check.h
tests_unit_slurm_test_allowed_size_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_allowed_size_LDADD = libslurmcluster.la libcontroller.la $(SLURM_LIBS) $(CHECK_LIBS)

tests_unit_slurm_test_slurm_cluster_SOURCES = tests/unit/slurm/test_slurm_cluster.cpp tests/unit/slurm/one_job.h tests/support/check.h
tests_unit_slurm_test_slurm_cluster_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_slurm_cluster_LDADD = libslurmcluster.la libcontroller.la $(SLURM_LIBS) $(CHECK_LIBS)

tests_unit_slurm_test_slurm_updates_SOURCES = tests/unit/slurm/test_slurm_updates.cpp tests/unit/slurm/one_job.h tests/support/check.h
tests_unit_slurm_test_slurm_updates_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_slurm_updates_LDADD = libslurmcluster.la libcontroller.la $(SLURM_LIBS) $(CHECK_LIBS)

tests_unit_slurm_test_slurm_records_SOURCES = tests/unit/slurm/test_slurm_records.cpp tests/support/check.h
tests_unit_slurm_test_slurm_records_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_slurm_records_LDADD = libslurmcluster.la libcontroller.la $(SLURM_LIBS) $(CHECK_LIBS)

tests_unit_slurm_test_srun_record_SOURCES = tests/unit/slurm/test_srun_record.cpp tests/support/check.h \
	tests/support/directory.h slurm_plugin/slurm/spank/srun_record.cpp
tests_unit_slurm_test_srun_record_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_srun_record_LDADD = librecords.la $(CHECK_LIBS)

tests_unit_slurm_test_start_size_SOURCES = tests/unit/slurm/test_start_size.cpp tests/support/check.h \
	slurm_plugin/slurm/cluster/gpu_tres.cpp slurm_plugin/slurm/job_submit/start_size.cpp
tests_unit_slurm_test_start_size_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_start_size_LDADD = librecords.la $(CHECK_LIBS)

tests_unit_slurm_test_step_variables_SOURCES = tests/unit/slurm/test_step_variables.cpp \
	tests/support/check.h slurm_plugin/slurm/spank/step_variables.cpp
tests_unit_slurm_test_step_variables_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_step_variables_LDADD = $(CHECK_LIBS)

if HAVE_YAML
slurm_yaml_tests = \
	tests/unit/slurm/test_accepted_options \
	tests/unit/slurm/test_facts \
	tests/unit/slurm/test_journal \
	tests/unit/slurm/test_lease \
	tests/unit/slurm/test_metrics \
	tests/unit/slurm/test_yaml
check_PROGRAMS += $(slurm_yaml_tests)
TESTS += $(slurm_yaml_tests)

tests_unit_slurm_test_accepted_options_SOURCES = \
	tests/unit/slurm/test_accepted_options.cpp tests/support/check.h tests/support/directory.h
tests_unit_slurm_test_accepted_options_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_accepted_options_LDADD = libyamloptions.la libcontroller.la $(YAML_LIBS) $(CHECK_LIBS)

tests_unit_slurm_test_facts_SOURCES = tests/unit/slurm/test_facts.cpp slurm_plugin/slurm/host/known_intents.cpp tests/support/check.h tests/support/directory.h
tests_unit_slurm_test_facts_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_facts_LDADD = libringrtd.la librecords.la $(CHECK_LIBS)

tests_unit_slurm_test_journal_SOURCES = tests/unit/slurm/test_journal.cpp tests/support/check.h tests/support/directory.h
tests_unit_slurm_test_journal_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_journal_LDADD = libhost.la libslurmcluster.la libyamloptions.la \
	libcontroller.la $(YAML_LIBS) $(SLURM_LIBS) $(CHECK_LIBS)

tests_unit_slurm_test_lease_SOURCES = tests/unit/slurm/test_lease.cpp tests/support/check.h tests/support/directory.h
tests_unit_slurm_test_lease_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_lease_LDADD = libringrtd.la librecords.la $(CHECK_LIBS)

tests_unit_slurm_test_metrics_SOURCES = tests/unit/slurm/test_metrics.cpp tests/support/check.h
tests_unit_slurm_test_metrics_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_metrics_LDADD = libhost.la libcontroller.la $(CHECK_LIBS)

tests_unit_slurm_test_yaml_SOURCES = tests/unit/slurm/test_yaml.cpp tests/support/check.h
tests_unit_slurm_test_yaml_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_slurm_test_yaml_LDADD = libyamloptions.la libcontroller.la $(YAML_LIBS) $(CHECK_LIBS)
endif HAVE_YAML
endif HAVE_SLURM
