# SPDX-License-Identifier: BSD-3-Clause
"""The fault matrix: each row, and what injects it.

cases     on a private Slurm cluster, with the invariants watched each second: a name in
          tests/cluster/cases, or a path below tests/faults
tests     of a test program of this build: its path -> the names of the tests (all: ())
scripts   separate commands, which print "# injected N"
partly    what the row requires beyond what is injected here
skip      why nothing can be injected here
long      left out of `make check-faults`"""
from dataclasses import dataclass, field


@dataclass
class Row:
    id: str
    what: str
    cases: tuple = ()
    tests: dict = field(default_factory=dict)
    scripts: tuple = ()
    partly: str = ""
    skip: str = ""
    long: bool = False


CHECKPOINT = "tests/unit/checkpoint/test_checkpoint"
SAVES = "tests/unit/checkpoint/test_checkpoint_faults"
INCARNATIONS = "tests/unit/checkpoint/test_checkpoint_incarnations"
FAILURES = "tests/multiproc/test_failures"
PACING = "tests/unit/controller/test_pacing"
RESIZE = "tests/unit/controller/test_resize"
TIME_LIMIT = "tests/unit/controller/test_time_limit"
WALK = "tests/unit/controller/test_walk"
RECORDS = "tests/unit/records/test_records"

ROWS = [
    Row("F01", "kill -9 of a rank while training", cases=("rank_killed",),
        tests={FAILURES: ("a_killed_rank_is_named_by_all_others", "a_killed_rank_is_missed_though_its_child_lives")}),
    Row("F02", "a rank dies inside the ring, at each hop",
        tests={FAILURES: ("a_rank_may_die_at_any_hop",)}),
    Row("F03", "SIGSTOP of a rank for a while, forever",
        tests={FAILURES: ("a_stopped_rank_causes_a_warning_and_then_a_timeout", "a_pause_is_survived", "a_rank_may_stop_at_any_hop")}),
    Row("F04", "a slow rank; packets lost, reset, delayed",
        tests={FAILURES: ("a_slow_rank_is_warned_of_and_waited_for", "reset_connections_are_an_error_at_all_ranks")},
        scripts=("tests/netns/faults",)),
    Row("F05", "the resize signal before the runtime is up", cases=("faults/signal_early",)),
    Row("F06", "the signal reaches helpers with no handler", cases=("faults/signal_helpers",)),
    Row("F07", "a second signal, SIGTERM, 100 signals during a checkpoint", cases=("faults/signal_storm",)),
    Row("F08", "ranks see the flag at different steps",
        tests={"tests/multiproc/test_step": ()}),
    Row("F09", "user code exits by itself during a resize", cases=("rank_dies",)),
    Row("F11", "kill at every system call of a save",
        tests={SAVES: ("a_crash_at_any_operation_leaves_the_old_or_the_new", "a_crash_at_any_operation_of_a_load_harms_nothing",
                       "a_crash_of_four_ranks_in_a_background_save_leaves_the_old_or_the_new"),
               "tests/unit/checkpoint/test_checkpoint_levels": (),
               "tests/unit/checkpoint/test_checkpoint_killed": ("a_kill_at_any_system_call_leaves_the_old_or_the_new",)}),
    Row("F12", "errors on write, fsync, close, rename; a full disk", cases=("faults/disk_full",),
        tests={SAVES: ("an_error_at_any_operation_costs_one_save_at_most", "a_disk_that_fails_forever_costs_only_the_new_checkpoint",
                       "short_and_interrupted_writes_and_reads_are_continued", "a_full_disk_is_seen_before_anything_is_written",
                       "an_unreadable_checkpoint_does_not_count_as_damaged", "a_checkpoint_that_one_node_cannot_see_is_kept"),
               "tests/unit/checkpoint/test_checkpoint_memory": ()}),
    Row("F13", "a shard truncated, missing, or one too many",
        tests={CHECKPOINT: ("shards_of_the_wrong_size_or_number_fall_back",)}),
    Row("F14", "1,000 bit flips in shard, manifest, LATEST",
        tests={CHECKPOINT: ("a_thousand_flipped_bits_are_all_found", "manifest_round_trip_and_every_flipped_bit")}),
    Row("F15", "every kept checkpoint corrupt", tests={CHECKPOINT: ("all_corrupt_is_reported_every_time",)}),
    Row("F16", "manifest bombs", tests={CHECKPOINT: ("manifest_bombs_are_refused",)}),
    Row("F17", "two writers",
        tests={INCARNATIONS: ("an_old_incarnation_never_commits_after_a_new_one_looked", "an_old_incarnation_may_go_on_at_any_operation_of_a_claim",
                              "an_old_load_does_not_rename_what_a_new_one_saved", "a_new_incarnation_is_not_undone_by_an_older_start")}),
    Row("F18", "save at n ranks, load at m", tests={CHECKPOINT: ("every_size_reads_what_every_other_wrote", "a_chain_of_sizes_keeps_every_bit")},
        scripts=("tests/multiproc/digits-sizes",)),
    Row("F19", "1,000 resizes: disk use bounded", tests={CHECKPOINT: ("a_thousand_saves_keep_three_and_the_start", "a_thousand_resizes_keep_the_disk_as_it_was")}),
    Row("F21", "kill -9 of slurmctld in each state of a resize", cases=("slurmctld_killed", "start_lost", "failover", "backup_knows_ends", "faults/ends_while_down",
        "faults/killed_together"),
        tests={"tests/unit/controller/test_model": ("every_happening_at_every_moment",)}),
    Row("F22", "the plugin's thread throws, hangs, is slow; an API call blocks", cases=("stops_quickly", "faults/thread_fails")),
    Row("F23", "many malleable jobs told to shrink at once", cases=("faults/storm",),
        tests={RESIZE: ("five_hundred_jobs_shrink_a_few_at_a_time",), PACING: ("the_breaker_pauses_all_resizes",)},
        partly="8 jobs on a real cluster, 500 in virtual time"),
    Row("F24", "scancel, hold, suspend, requeue, update in each state", cases=("cancel", "user_wins", "admin_comment", "partition_down", "reservation_ahead", "faults/cancel_at_requeue"),
        tests={WALK: ("every_state_and_every_happening",)}),
    Row("F25", "a job exits 0 in the same second as its requeue", cases=("faults/exit_at_requeue",),
        partly="RINGRT_TIMES=200 for all 200; 12 by default"),
    Row("F26", "10,000 queued, a tenth malleable; 500 running, reporting, resized", scripts=("tests/faults/load",), long=True),
    Row("F27", "other jobs wait for the GPUs in the gap", cases=("faults/gap_contended",)),
    Row("F28", "bad configuration; plugin absent; reconfigure 100 times during resizes", cases=("bad_yaml", "faults/reconfigure_often")),
    Row("F29", "the time limit over several runs", cases=("faults/time_limit",),
        tests={TIME_LIMIT: ("the_time_limit_counts_over_all_runs", "a_time_limit_that_slurm_chose_counts_over_all_runs",
                            "an_administrators_time_limit_for_a_running_job_stands", "a_suspension_counts_for_no_time_limit",
                            "a_requeue_of_the_jobs_own_brings_a_fresh_time_limit",
                            "a_requeue_of_the_jobs_own_after_resizes_brings_the_whole_time_limit",
                            "a_requeue_of_the_jobs_own_leaves_the_choice_to_slurm")}),
    Row("F31", "kill -9 of slurmd, slurmstepd; node down, for a moment", cases=("node_lost", "faults/node_blinks", "faults/daemon_killed")),
    Row("F32", "the SPANK plugin missing, failing, of another version", cases=("spank_missing", "faults/spank_fails")),
    Row("F33", "prolog or epilog slow or failing", cases=("faults/prolog",)),
    Row("F34", "--export=NONE, two sruns, arrays, het jobs, salloc", cases=("faults/job_kinds", "bad_flags")),
    Row("F41", "hostile flag values", cases=("bad_flags",), tests={RECORDS: ("range_refuses_in_one_line", "flags_survive_ten_megabytes")}),
    Row("F42", "forged SPANK environment by raw libslurm", cases=("faults/spank_forged",)),
    Row("F43", "hostile comments and names", cases=("faults/hostile_names",),
        tests={"tests/unit/tools/test_ringstat": ("hostile_names_cannot_reach_the_terminal", "any_bytes_become_printable_text_and_valid_json"),
               "tests/unit/tools/test_ringstat_history": ("torn_and_foreign_event_lines_are_skipped",)}),
    Row("F44", "YAML, trace and profile bombs", tests={"tests/unit/slurm/test_yaml": ("bombs_are_refused_at_once", "random_text_is_survived"),
               "tests/unit/sim/test_scenario": ("bombs_are_refused",)}),
    Row("F45", "the rendezvous socket attacked", tests={"tests/multiproc/test_strangers": ("garbage_at_the_acceptor_does_no_harm", "a_replayed_hello_is_dropped")}),
    Row("F46", "a user games it", cases=("faults/gamed",)),
    Row("F47", "the wall clock is set", cases=("faults/clock_set",)),
    Row("F51", "an hour of random faults over 20 jobs", scripts=("tests/faults/soak --minutes 60 --seed 1",), long=True),
    Row("F52", "the same trace in the simulator and on a real cluster", cases=("same_decisions",)),
    Row("F55", "resizing in place: each crash point", cases=("live_base_ends", "live_cut", "live_faults", "live_not_started", "live_requeued", "live_rows", "live_unsaved_start", "live_will_run", "site_live_preempted"),
        tests={path: () for path in ("tests/unit/live/test_join", "tests/unit/live/test_live_model", "tests/unit/controller/test_base_shrink", "tests/unit/controller/test_extension",
                                     "tests/unit/controller/test_live_resize", "tests/multiproc/test_live", "tests/multiproc/test_live_copies",
                                     "tests/multiproc/test_live_gradients", "tests/multiproc/test_live_nccl", "tests/multiproc/test_live_nodes",
                                     "tests/multiproc/test_live_rows", "tests/multiproc/test_live_scarce", "tests/multiproc/test_live_settings", "tests/multiproc/test_live_state",
                                     "tests/multiproc/test_state_chunks")}),
    Row("F56", "resizing in place at random, for half an hour", scripts=("tests/faults/live_soak --steps 12000 --trainings 5 --every 8 --seed 7",), long=True),
    Row("F57", "slurmctld killed in each state of a pause; the controller removed meanwhile", cases=("faults/pause_killed", "faults/pause_many", "faults/pause_removed", "faults/pause_lease", "faults/pause_takeover")),
    Row("F53", "100,000 passes: memory flat; valgrind", cases=("faults/memory_flat",), scripts=("tests/faults/valgrind",), long=True),
]
