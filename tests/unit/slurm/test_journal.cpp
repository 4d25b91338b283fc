// SPDX-License-Identifier: BSD-3-Clause
// What a starting controller learns from its predecessor.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "slurm_plugin/slurm/host/journal_file.h"
#include "tests/support/check.h"
#include "tests/support/directory.h"

namespace {

using namespace ringrt::slurm;
using ringrt::controller::Event;
using ringrt::controller::EventKind;
using ringrt::controller::Outcome;
using ringrt::test::TemporaryDirectory;

struct Errors final : Log {
    void info(const std::string &) override {}
    void error(const std::string &) override { ++count; }
    int count = 0;
};

Event ended(uint32_t job_id, double time_s) {
    return {.time_s = time_s,
            .job_id = job_id,
            .kind = EventKind::ended,
            .outcome = Outcome::completed};
}

// A slurmctld that was killed shows the job as running: its end stays known until it is pending.
TEST(what_is_noted_after_the_end_does_not_hide_it) {
    const auto after = [](std::initializer_list<EventKind> kinds) {
        std::string lines = ringrt::controller::journal_line(ended(7, 2)) + "\n";
        for (const EventKind kind : kinds)
            lines +=
                ringrt::controller::journal_line({.time_s = 3, .job_id = 7, .kind = kind}) + "\n";
        return ringrt::controller::read_journal(lines);
    };
    using enum EventKind;
    const auto shown_as_running = after({started, asked, called_off});
    ck_assert(shown_as_running.ended.contains(7) && shown_as_running.asked_s.empty());
    for (const EventKind pending : {released, downsized, requeued, paused, resumed})
        ck_assert(after({pending}).ended.empty());
    ck_assert(after({released, started, asked}).asked_s.contains(7));
}

TEST(another_controller_reads_how_a_job_ended) {
    const TemporaryDirectory directory;
    Errors errors;
    JournalFile first(errors, directory.path + "/journal");
    ck_assert(first.read().ended.empty());
    first.write({.time_s = 1, .job_id = 7, .kind = EventKind::asked});
    first.write(ended(7, 2));
    first.write({.time_s = 3, .kind = EventKind::error});
    first.write({.time_s = 3, .job_id = 7, .kind = EventKind::dry_run});
    const auto journal = JournalFile(errors, directory.path + "/journal").read();
    ck_assert(journal.ended.contains(7) && journal.ended.at(7).completed);
    ck_assert(journal.asked_s.empty());
    ck_assert_int_eq(errors.count, 0);
}

TEST(it_is_bounded_and_keeps_the_last_thousand) {
    const TemporaryDirectory directory;
    Errors errors;
    JournalFile events(errors, directory.path + "/journal");
    for (uint32_t job = 1; job <= 9000; ++job) events.write(ended(job, job));
    const auto journal = events.read();
    ck_assert(journal.ended.contains(9000) && journal.ended.contains(8000));
    ck_assert(!journal.ended.contains(1));
    ck_assert_uint_le(std::filesystem::file_size(directory.path + "/journal"),
                      kJournalBytes + 1000);
    ck_assert_uint_le(std::filesystem::file_size(directory.path + "/journal.1"),
                      kJournalBytes + 1000);
}

TEST(an_object_that_is_not_a_file_is_reported_once_and_blocks_nothing) {
    const TemporaryDirectory directory;
    Errors errors;
    const std::string path = directory.path + "/journal";
    JournalFile events(errors, path);
    ck_assert_int_eq(mkfifo(path.c_str(), 0600), 0);
    ck_assert(events.read().ended.empty());
    events.write(ended(1, 1));
    events.write(ended(2, 2));
    ck_assert_int_eq(errors.count, 1);
    std::filesystem::remove(path);
    std::filesystem::create_symlink(directory.path + "/elsewhere", path);
    events.write(ended(3, 3));
    ck_assert(!std::filesystem::exists(directory.path + "/elsewhere"));
    std::filesystem::remove(path);
    events.write(ended(4, 4));
    ck_assert(events.read().ended.contains(4));
    ck_assert_int_eq(errors.count, 1);
}

TEST(a_torn_last_line_spoils_no_other) {
    const TemporaryDirectory directory;
    Errors errors;
    JournalFile events(errors, directory.path + "/journal");
    events.write(ended(1, 1));
    std::ofstream(directory.path + "/journal", std::ios::app)
        << "event/1 time=2.0 job=2 kind=ended outcome=comp";
    events.write(ended(3, 3));
    events.write(ended(4, 4));
    const auto journal = events.read();
    ck_assert(journal.ended.contains(1) && journal.ended.contains(3) && journal.ended.contains(4));
    ck_assert(!journal.ended.contains(2));
}

// The journal's own grammar: a text that is not a complete line has no effect.
TEST(only_whole_lines_count) {
    using ringrt::controller::journal_line;
    using ringrt::controller::read_journal;
    EXPECT_TEXT(journal_line(ended(12, 1763721600.25)),
                "event/1 time=1763721600.2 job=12 kind=ended outcome=completed");
    EXPECT_TEXT(journal_line({.job_id = 12, .kind = EventKind::dry_run}), "");
    EXPECT_TEXT(journal_line({.kind = EventKind::error}), "");
    const std::string asked = journal_line({.time_s = 5, .job_id = 7, .kind = EventKind::asked});
    for (std::size_t bytes = 0; bytes < asked.size(); ++bytes)
        ck_assert(read_journal(asked.substr(0, bytes)).asked_s.empty());
    ck_assert(read_journal(asked).asked_s.contains(7));
    ck_assert(read_journal("event/1 x=1 time=5 job=7 kind=asked outcome=none").asked_s.contains(7));
    for (const char *line :
         {"event/1 time=5 job=0 kind=asked outcome=none",
          "event/1 time=-1 job=7 kind=asked outcome=none",
          "event/1 time=5 job=7 job=8 kind=asked outcome=none",
          "event/1 job=7 kind=asked outcome=none", " event/1 time=5 job=7 kind=asked outcome=none",
          "event/2 time=5 job=7 kind=asked outcome=none"})
        ck_assert_msg(read_journal(line).asked_s.empty(), "%s", line);
    // A newer version's line about a job counts as an event of that job.
    ck_assert(
        read_journal(asked + "\nevent/1 time=6 job=7 kind=moved outcome=none").asked_s.empty());
}

}  // namespace

int main() { return ringrt::test::run_all("journal"); }
