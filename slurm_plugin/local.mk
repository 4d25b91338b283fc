# SPDX-License-Identifier: BSD-3-Clause

# ---- records: pure ------------------------------------------------------------------------
noinst_LTLIBRARIES += librecords.la
librecords_la_SOURCES = \
	slurm_plugin/records/channel.cpp slurm_plugin/records/channel.h \
	slurm_plugin/records/extension.cpp slurm_plugin/records/extension.h \
	slurm_plugin/records/fields.cpp slurm_plugin/records/fields.h \
	slurm_plugin/records/flag.cpp slurm_plugin/records/flag.h \
	slurm_plugin/records/intent.cpp slurm_plugin/records/intent.h \
	slurm_plugin/records/telemetry.cpp slurm_plugin/records/telemetry.h \
	slurm_plugin/records/unix_time.h

include slurm_plugin/policy/local.mk

# ---- controller: the resize loop ------------------------------------------------------------------
noinst_LTLIBRARIES += libcontroller.la
libcontroller_la_SOURCES = \
	slurm_plugin/controller/action.h \
	slurm_plugin/controller/applications.cpp slurm_plugin/controller/applications.h \
	slurm_plugin/controller/breaker.cpp slurm_plugin/controller/breaker.h \
	slurm_plugin/controller/capacity.cpp slurm_plugin/controller/capacity.h \
	slurm_plugin/controller/lenders.cpp slurm_plugin/controller/lenders.h \
	slurm_plugin/controller/reach.cpp slurm_plugin/controller/reach.h \
	slurm_plugin/controller/cluster.h \
	slurm_plugin/controller/controller.cpp slurm_plugin/controller/controller.h \
	slurm_plugin/controller/decision.cpp slurm_plugin/controller/decision.h \
	slurm_plugin/controller/decision_clock.h \
	slurm_plugin/controller/event.cpp slurm_plugin/controller/event.h \
	slurm_plugin/controller/executor.cpp slurm_plugin/controller/executor.h \
	slurm_plugin/controller/explain.cpp slurm_plugin/controller/explain.h \
	slurm_plugin/controller/extension.cpp slurm_plugin/controller/extension.h \
	slurm_plugin/controller/fence.cpp slurm_plugin/controller/fence.h \
	slurm_plugin/controller/free_places.cpp slurm_plugin/controller/free_places.h \
	slurm_plugin/controller/gpu_shares.cpp slurm_plugin/controller/gpu_shares.h \
	slurm_plugin/controller/in_flight.cpp slurm_plugin/controller/in_flight.h \
	slurm_plugin/controller/job.cpp slurm_plugin/controller/job.h \
	slurm_plugin/controller/job_machine.cpp slurm_plugin/controller/job_machine.h \
	slurm_plugin/controller/journal.cpp slurm_plugin/controller/journal.h \
	slurm_plugin/controller/lent_exclusions.cpp slurm_plugin/controller/lent_exclusions.h \
	slurm_plugin/controller/base_shrink.cpp slurm_plugin/controller/base_shrink.h \
	slurm_plugin/controller/live_resize.cpp slurm_plugin/controller/live_resize.h \
	slurm_plugin/controller/nearest.cpp slurm_plugin/controller/nearest.h \
	slurm_plugin/controller/options.cpp slurm_plugin/controller/options.h \
	slurm_plugin/controller/pausing.cpp slurm_plugin/controller/pausing.h \
	slurm_plugin/controller/pacing.h slurm_plugin/controller/deferral.h \
	slurm_plugin/controller/work_order.h \
	slurm_plugin/controller/policy_input.cpp slurm_plugin/controller/policy_input.h \
	slurm_plugin/controller/probation.cpp slurm_plugin/controller/probation.h \
	slurm_plugin/controller/recovery.cpp slurm_plugin/controller/recovery.h \
	slurm_plugin/controller/node_parts.cpp slurm_plugin/controller/node_parts.h \
	slurm_plugin/controller/node_room.cpp slurm_plugin/controller/node_room.h \
	slurm_plugin/controller/rigid_plan.cpp slurm_plugin/controller/rigid_plan.h \
	slurm_plugin/controller/rigid_reservation.cpp slurm_plugin/controller/rigid_reservation.h \
	slurm_plugin/controller/planned_places.cpp slurm_plugin/controller/planned_places.h \
	slurm_plugin/controller/rigid_room.cpp slurm_plugin/controller/rigid_room.h \
	slurm_plugin/controller/lent_settings.cpp slurm_plugin/controller/lent_settings.h \
	slurm_plugin/controller/shared_limit.cpp slurm_plugin/controller/shared_limit.h \
	slurm_plugin/controller/size_cap.cpp slurm_plugin/controller/size_cap.h \
	slurm_plugin/controller/speed.cpp slurm_plugin/controller/speed.h \
	slurm_plugin/controller/stage.cpp slurm_plugin/controller/stage.h \
	slurm_plugin/controller/statistics.h \
	slurm_plugin/controller/text.h \
	slurm_plugin/controller/time_limit.cpp slurm_plugin/controller/time_limit.h \
	slurm_plugin/controller/tracker.cpp slurm_plugin/controller/tracker.h \
	slurm_plugin/controller/waiting.cpp slurm_plugin/controller/waiting.h
libcontroller_la_LIBADD = librecords.la libpolicy.la

# ---- channel: the node's side of the channel between rank 0 and Slurm
noinst_LTLIBRARIES += libchannel.la
libchannel_la_SOURCES = \
	slurm_plugin/channel/child_call.cpp slurm_plugin/channel/child_call.h \
	slurm_plugin/channel/service.cpp slurm_plugin/channel/service.h

# ---- slurm: the plugins
include slurm_plugin/slurm/local.mk
