// SPDX-License-Identifier: BSD-3-Clause
// What a controller that starts learns from the one before it.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "slurm_plugin/slurm/recent_events.h"
#include "tests/support/check.h"

namespace {

using namespace ringrt::slurm;
using ringrt::controller::Event;
using ringrt::controller::EventKind;
using ringrt::controller::past_of;

struct Errors final : Log {
    void info(const std::string &) override {}
    void error(const std::string &) override { ++count; }
    int count = 0;
};

struct Folder {
    Folder() { ck_assert_ptr_nonnull(mkdtemp(path.data())); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path = "/tmp/ringrt-recent.XXXXXX";
};

Event ended(uint32_t job_id, double time_s) {
    return {.time_s = time_s, .job_id = job_id, .kind = EventKind::ended, .text = "has ended"};
}

TEST(another_controller_reads_how_a_job_ended) {
    const Folder folder;
    Errors errors;
    RecentEvents first(errors, folder.path + "/recent");
    EXPECT_TEXT(first.read(), "");
    first.write({.time_s = 1, .job_id = 7, .kind = EventKind::asked});
    first.write(ended(7, 2));
    first.write({.time_s = 3, .kind = EventKind::error});
    first.write({.time_s = 3, .job_id = 7, .kind = EventKind::dry_run});
    const auto past = past_of(RecentEvents(errors, folder.path + "/recent").read());
    ck_assert(past.ended.contains(7) && past.ended.at(7).completed);
    ck_assert(past.asked_s.empty());
    ck_assert_int_eq(errors.count, 0);
}

TEST(it_is_bounded_and_keeps_the_last_hundreds) {
    const Folder folder;
    Errors errors;
    RecentEvents events(errors, folder.path + "/recent");
    for (uint32_t job = 1; job <= 4000; ++job) events.write(ended(job, job));
    const auto past = past_of(events.read());
    ck_assert(past.ended.contains(4000) && past.ended.contains(3600));
    ck_assert(!past.ended.contains(1));
    ck_assert_uint_le(std::filesystem::file_size(folder.path + "/recent"), kRecentBytes + 1000);
    ck_assert_uint_le(std::filesystem::file_size(folder.path + "/recent.1"), kRecentBytes + 1000);
}

TEST(what_is_no_file_is_said_once_and_blocks_nothing) {
    const Folder folder;
    Errors errors;
    const std::string path = folder.path + "/recent";
    RecentEvents events(errors, path);
    ck_assert_int_eq(mkfifo(path.c_str(), 0600), 0);
    EXPECT_TEXT(events.read(), "");
    events.write(ended(1, 1));
    events.write(ended(2, 2));
    ck_assert_int_eq(errors.count, 1);
    std::filesystem::remove(path);
    std::filesystem::create_symlink(folder.path + "/elsewhere", path);
    events.write(ended(3, 3));
    ck_assert(!std::filesystem::exists(folder.path + "/elsewhere"));
    std::filesystem::remove(path);
    events.write(ended(4, 4));
    ck_assert(past_of(events.read()).ended.contains(4));
    ck_assert_int_eq(errors.count, 1);
}

TEST(a_torn_last_line_spoils_no_other) {
    const Folder folder;
    Errors errors;
    RecentEvents events(errors, folder.path + "/recent");
    events.write(ended(1, 1));
    std::ofstream(folder.path + "/recent", std::ios::app) << "{\"time\":2,\"job\":2,\"eve";
    events.write(ended(3, 3));
    events.write(ended(4, 4));
    const auto past = past_of(events.read());
    ck_assert(past.ended.contains(1) && past.ended.contains(3) && past.ended.contains(4));
}

}  // namespace

int main() {
    return ringrt::test::run_all(
        "recent_events",
        {another_controller_reads_how_a_job_ended, it_is_bounded_and_keeps_the_last_hundreds,
         what_is_no_file_is_said_once_and_blocks_nothing, a_torn_last_line_spoils_no_other});
}
