# SPDX-License-Identifier: BSD-3-Clause
# The fault matrix: `make check-faults` runs all rows but the long ones, as root, with Slurm installed, and
# prints TAP-like lines. tests/faults/run --list shows what injects each row.
EXTRA_DIST += \
	tests/faults/cases tests/faults/cluster_view.py tests/faults/day tests/faults/invariants.py tests/faults/live_soak tests/faults/load \
	tests/faults/matrix.py tests/faults/run tests/faults/soak tests/faults/soak_faults.py \
	tests/faults/soak_train.sh tests/faults/training.sh tests/faults/valgrind tests/faults/watch

faults_programs =
if HAVE_SLURM
faults_programs += tests/faults/report_many tests/faults/submit_many api_faults.la heap_account.la set_clock.la
EXTRA_PROGRAMS += tests/faults/report_many
# for tests/cluster as well
noinst_PROGRAMS += tests/faults/submit_many
tests_faults_report_many_SOURCES = tests/faults/report_many.cpp
tests_faults_report_many_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_faults_report_many_LDADD = librecords.la $(SLURM_LIBS)
tests_faults_submit_many_SOURCES = tests/faults/submit_many.cpp
tests_faults_submit_many_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_faults_submit_many_LDADD = $(SLURM_LIBS)

EXTRA_LTLIBRARIES += api_faults.la heap_account.la set_clock.la
api_faults_la_SOURCES = tests/faults/api_faults.cpp
api_faults_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
api_faults_la_LDFLAGS = -module -avoid-version -shared -rpath $(abs_builddir)
heap_account_la_SOURCES = tests/faults/heap_account.cpp
heap_account_la_LDFLAGS = $(api_faults_la_LDFLAGS)
set_clock_la_SOURCES = tests/faults/set_clock.cpp
set_clock_la_LDFLAGS = $(api_faults_la_LDFLAGS)
endif HAVE_SLURM
CLEANFILES += tests/faults/report_many api_faults.la heap_account.la set_clock.la

check-faults-programs: all $(check_PROGRAMS) $(faults_programs)
check-faults: check-faults-programs
	$(srcdir)/tests/faults/run $(ROWS)
check-faults-long: check-faults-programs
	$(srcdir)/tests/faults/run --all $(ROWS)
