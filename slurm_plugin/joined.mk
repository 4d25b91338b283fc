# SPDX-License-Identifier: BSD-3-Clause
# `make plugins` compiles the .cpp files of a group as one file (a unity build), which reads the headers, most
# of the compile time, once. A group takes its files from the ordinary build's lists, so it includes new
# files. The price: within a group, a name in an anonymous namespace must be unique. tests/packages builds
# this way and detects a clash.
if HAVE_SLURM
if HAVE_YAML

joined_records = $(librecords_la_SOURCES)
joined_policy = $(filter-out slurm_plugin/policy/engine/%,$(libpolicy_la_SOURCES))
joined_engine = $(filter slurm_plugin/policy/engine/%,$(libpolicy_la_SOURCES)) $(libmodel_la_SOURCES)
joined_controller = $(libcontroller_la_SOURCES)
joined_cluster = $(libslurmcluster_la_SOURCES)
joined_yaml = $(libyamloptions_la_SOURCES)
joined_host = $(libhost_la_SOURCES)
joined_sched = $(sched_doubling_la_SOURCES)
joined_ringrtd = $(libringrtd_la_SOURCES) $(ringrtd_SOURCES)
joined_submit = $(job_submit_malleable_la_SOURCES)
joined_spank = $(malleable_la_SOURCES) $(libchannel_la_SOURCES)
joined_check = $(libringrtcheck_la_SOURCES) $(ringrt_check_SOURCES)

joined_sources = joined/records.cpp joined/policy.cpp joined/engine.cpp joined/controller.cpp \
	joined/cluster.cpp joined/yaml.cpp joined/host.cpp joined/sched.cpp joined/ringrtd.cpp joined/submit.cpp joined/spank.cpp joined/check.cpp
# configure alone does not touch it: files without a Slurm header stay compiled.
$(joined_sources): Makefile
	$(AM_V_GEN)$(MKDIR_P) joined && \
		printf '#include "%s"\n' $(filter %.cpp,$(joined_$(basename $(@F)))) >$@.new
	@cmp -s $@.new $@ && rm -f $@.new || mv -f $@.new $@

joined_pure_cppflags = $(AM_CPPFLAGS) $(YAML_CFLAGS) $(policy_list)
joined_cppflags = $(joined_pure_cppflags) $(SLURM_CPPFLAGS) \
	-DRINGRT_SLURM_PLUGIN_DIR='"$(slurmplugindir)"' -DRINGRT_SLURM_CONF='"$(slurmconffile)"'
joined_cxxflags = $(AM_CXXFLAGS) $(QUICK_DEBUG_CXXFLAGS)
joined/%: CXXFLAGS = $(PLUGINS_CXXFLAGS)

EXTRA_LTLIBRARIES += joined/librecords.la joined/libcontroller.la joined/libyaml.la joined/libhost.la
nodist_joined_librecords_la_SOURCES = joined/records.cpp
joined_librecords_la_CPPFLAGS = $(joined_pure_cppflags)
joined_librecords_la_CXXFLAGS = $(joined_cxxflags)
nodist_joined_libcontroller_la_SOURCES = joined/policy.cpp joined/engine.cpp joined/controller.cpp
joined_libcontroller_la_CPPFLAGS = $(joined_pure_cppflags)
joined_libcontroller_la_CXXFLAGS = $(joined_cxxflags)
joined_libcontroller_la_LIBADD = joined/librecords.la
nodist_joined_libyaml_la_SOURCES = joined/yaml.cpp
joined_libyaml_la_CPPFLAGS = $(joined_pure_cppflags)
joined_libyaml_la_CXXFLAGS = $(joined_cxxflags)
nodist_joined_libhost_la_SOURCES = joined/host.cpp joined/cluster.cpp
joined_libhost_la_CPPFLAGS = $(joined_cppflags)
joined_libhost_la_CXXFLAGS = $(joined_cxxflags)

joined_plugins = joined/sched_doubling.la joined/job_submit_malleable.la joined/malleable.la
joined_ldflags = $(slurm_module_ldflags) -rpath $(slurmplugindir)
EXTRA_LTLIBRARIES += $(joined_plugins)
nodist_joined_sched_doubling_la_SOURCES = joined/sched.cpp
joined_sched_doubling_la_CPPFLAGS = $(joined_cppflags)
joined_sched_doubling_la_CXXFLAGS = $(joined_cxxflags)
joined_sched_doubling_la_LDFLAGS = $(joined_ldflags)
joined_sched_doubling_la_LIBADD = joined/libhost.la joined/libyaml.la joined/libcontroller.la $(YAML_LIBS)
nodist_joined_job_submit_malleable_la_SOURCES = joined/submit.cpp
joined_job_submit_malleable_la_CPPFLAGS = $(joined_cppflags)
joined_job_submit_malleable_la_CXXFLAGS = $(joined_cxxflags)
joined_job_submit_malleable_la_LDFLAGS = $(joined_ldflags)
joined_job_submit_malleable_la_LIBADD = joined/librecords.la
nodist_joined_malleable_la_SOURCES = joined/spank.cpp
joined_malleable_la_CPPFLAGS = $(joined_cppflags)
joined_malleable_la_CXXFLAGS = $(joined_cxxflags)
joined_malleable_la_LDFLAGS = $(joined_ldflags)
joined_malleable_la_LIBADD = joined/librecords.la

joined_programs = joined/ringrtd joined/ringrt-check
EXTRA_PROGRAMS += $(joined_programs)
nodist_joined_ringrtd_SOURCES = joined/ringrtd.cpp
joined_ringrtd_CPPFLAGS = $(joined_cppflags)
joined_ringrtd_CXXFLAGS = $(joined_cxxflags)
joined_ringrtd_LDADD = joined/libhost.la joined/libyaml.la joined/libcontroller.la $(YAML_LIBS) $(SLURM_LIBS)
nodist_joined_ringrt_check_SOURCES = joined/check.cpp
joined_ringrt_check_CPPFLAGS = $(joined_cppflags)
joined_ringrt_check_CXXFLAGS = $(joined_cxxflags)
joined_ringrt_check_LDADD = joined/libyaml.la joined/libcontroller.la $(YAML_LIBS)

CLEANFILES += $(joined_sources) $(joined_programs) joined/*.la
endif
endif
