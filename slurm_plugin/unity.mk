# SPDX-License-Identifier: BSD-3-Clause
# `make plugins` compiles the .cpp files of a group as one file (a unity build), which reads the headers, most
# of the compile time, once. A group takes its files from the ordinary build's lists, so it includes new
# files. The price: within a group, a name in an anonymous namespace must be unique. tests/packages builds
# this way and detects a clash.
if HAVE_SLURM
if HAVE_YAML

unity_records = $(librecords_la_SOURCES)
unity_policy = $(filter-out slurm_plugin/policy/engine/%,$(libpolicy_la_SOURCES))
unity_engine = $(filter slurm_plugin/policy/engine/%,$(libpolicy_la_SOURCES)) $(libmodel_la_SOURCES)
unity_controller = $(libcontroller_la_SOURCES)
unity_cluster = $(libslurmcluster_la_SOURCES)
unity_yaml = $(libyamloptions_la_SOURCES)
unity_host = $(libhost_la_SOURCES)
unity_sched = $(sched_doubling_la_SOURCES)
unity_ringrtd = $(libringrtd_la_SOURCES) $(ringrtd_SOURCES)
unity_submit = $(job_submit_malleable_la_SOURCES)
unity_spank = $(malleable_la_SOURCES) $(libchannel_la_SOURCES)
unity_check = $(libringrtcheck_la_SOURCES) $(ringrt_check_SOURCES)

unity_sources = unity/records.cpp unity/policy.cpp unity/engine.cpp unity/controller.cpp \
	unity/cluster.cpp unity/yaml.cpp unity/host.cpp unity/sched.cpp unity/ringrtd.cpp unity/submit.cpp unity/spank.cpp unity/check.cpp
# configure alone does not touch it: files without a Slurm header stay compiled.
$(unity_sources): Makefile
	$(AM_V_GEN)$(MKDIR_P) unity && \
		printf '#include "%s"\n' $(filter %.cpp,$(unity_$(basename $(@F)))) >$@.new
	@cmp -s $@.new $@ && rm -f $@.new || mv -f $@.new $@

unity_pure_cppflags = $(AM_CPPFLAGS) $(YAML_CFLAGS) $(policy_list)
unity_cppflags = $(unity_pure_cppflags) $(SLURM_CPPFLAGS) \
	-DRINGRT_SLURM_PLUGIN_DIR='"$(slurmplugindir)"' -DRINGRT_SLURM_CONF='"$(slurmconffile)"'
unity_cxxflags = $(AM_CXXFLAGS) $(QUICK_DEBUG_CXXFLAGS)
unity/%: CXXFLAGS = $(PLUGINS_CXXFLAGS)

EXTRA_LTLIBRARIES += unity/librecords.la unity/libcontroller.la unity/libyaml.la unity/libhost.la
nodist_unity_librecords_la_SOURCES = unity/records.cpp
unity_librecords_la_CPPFLAGS = $(unity_pure_cppflags)
unity_librecords_la_CXXFLAGS = $(unity_cxxflags)
nodist_unity_libcontroller_la_SOURCES = unity/policy.cpp unity/engine.cpp unity/controller.cpp
unity_libcontroller_la_CPPFLAGS = $(unity_pure_cppflags)
unity_libcontroller_la_CXXFLAGS = $(unity_cxxflags)
unity_libcontroller_la_LIBADD = unity/librecords.la
nodist_unity_libyaml_la_SOURCES = unity/yaml.cpp
unity_libyaml_la_CPPFLAGS = $(unity_pure_cppflags)
unity_libyaml_la_CXXFLAGS = $(unity_cxxflags)
nodist_unity_libhost_la_SOURCES = unity/host.cpp unity/cluster.cpp
unity_libhost_la_CPPFLAGS = $(unity_cppflags)
unity_libhost_la_CXXFLAGS = $(unity_cxxflags)

unity_plugins = unity/sched_doubling.la unity/job_submit_malleable.la unity/malleable.la
unity_ldflags = $(slurm_module_ldflags) -rpath $(slurmplugindir)
EXTRA_LTLIBRARIES += $(unity_plugins)
nodist_unity_sched_doubling_la_SOURCES = unity/sched.cpp
unity_sched_doubling_la_CPPFLAGS = $(unity_cppflags)
unity_sched_doubling_la_CXXFLAGS = $(unity_cxxflags)
unity_sched_doubling_la_LDFLAGS = $(unity_ldflags)
unity_sched_doubling_la_LIBADD = unity/libhost.la unity/libyaml.la unity/libcontroller.la $(YAML_LIBS)
nodist_unity_job_submit_malleable_la_SOURCES = unity/submit.cpp
unity_job_submit_malleable_la_CPPFLAGS = $(unity_cppflags)
unity_job_submit_malleable_la_CXXFLAGS = $(unity_cxxflags)
unity_job_submit_malleable_la_LDFLAGS = $(unity_ldflags)
unity_job_submit_malleable_la_LIBADD = unity/librecords.la
nodist_unity_malleable_la_SOURCES = unity/spank.cpp
unity_malleable_la_CPPFLAGS = $(unity_cppflags)
unity_malleable_la_CXXFLAGS = $(unity_cxxflags)
unity_malleable_la_LDFLAGS = $(unity_ldflags)
unity_malleable_la_LIBADD = unity/librecords.la

unity_programs = unity/ringrtd unity/ringrt-check
EXTRA_PROGRAMS += $(unity_programs)
nodist_unity_ringrtd_SOURCES = unity/ringrtd.cpp
unity_ringrtd_CPPFLAGS = $(unity_cppflags)
unity_ringrtd_CXXFLAGS = $(unity_cxxflags)
unity_ringrtd_LDADD = unity/libhost.la unity/libyaml.la unity/libcontroller.la $(YAML_LIBS) $(SLURM_LIBS)
nodist_unity_ringrt_check_SOURCES = unity/check.cpp
unity_ringrt_check_CPPFLAGS = $(unity_cppflags)
unity_ringrt_check_CXXFLAGS = $(unity_cxxflags)
unity_ringrt_check_LDADD = unity/libyaml.la unity/libcontroller.la $(YAML_LIBS)

CLEANFILES += $(unity_sources) $(unity_programs) unity/*.la
endif
endif
