// SPDX-License-Identifier: BSD-3-Clause
// ringstat's formatting: ordinary jobs, hostile names, torn logs.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/records/telemetry.h"
#include "tests/support/check.h"
#include "tools/ringstat/columns.h"
#include "tools/ringstat/options.h"
#include "tools/ringstat/report.h"
#include "tools/ringstat/summary.h"
#include "tools/ringstat/text.h"

using namespace ringrt::ringstat;
using ringrt::records::Intent;
using ringrt::records::IntentState;
using ringrt::records::Telemetry;
using ringrt::slurm::ListedJob;
using Json = nlohmann::json;

namespace {

ListedJob running_job() {
    const Intent intent{.gpus_min = 1,
                        .gpus_max = 8,
                        .state = IntentState::running,
                        .gpus = 4,
                        .resizes = 2,
                        .gap_s = 2.5,
                        .why = "best_gain"};
    const Telemetry telemetry{.gpus = 4,
                              .step = 120,
                              .step_ms = 250,
                              .steps_left = 400,
                              .batch = 64,
                              .trained = 7680,
                              .ckpt_step = 100,
                              .up = true};
    return {.id = 7,
            .user_id = 1000,
            .name = "train",
            .user = "ada",
            .partition = "main",
            .nodes = "n1",
            .state = "RUNNING",
            .state_short = "R",
            .reason = "None",
            .gpus = 4,
            .restarts = 2,
            .start_s = 1000,
            .admin_comment = format_intent(intent),
            .comment = format_telemetry(telemetry)};
}

ListedJob with_intent(ListedJob job, const Intent &intent) {
    job.admin_comment = format_intent(intent);
    return job;
}

JobView only_view(const ListedJob &job, const Filter &filter = {}) {
    const auto views = view_jobs(std::span(&job, 1), filter, 1100);
    ck_assert_uint_eq(views.size(), 1);
    return views.front();
}

std::string shown(const JobView &job, std::string_view format) {
    return job_line(std::get<std::vector<Cell>>(parse_format(format)), job);
}

bool passes(const ListedJob &job, const Filter &filter) {
    return !view_jobs(std::span(&job, 1), filter, 1100).empty();
}

}  // namespace

TEST(a_running_job_shows_its_size_and_progress) {
    const JobView view = only_view(running_job());
    EXPECT_TEXT(shown(view, "%i|%j|%u|%t|%g|%l|%h|%z|%s|%M|%p|%k|%e|%x|%r"),
                "7|train|ada|R|4|1|8|2|steady|1:40|120|100|1:40|2.5|BestGain");
}

TEST(the_default_format_lines_up) {
    const auto cells = std::get<std::vector<Cell>>(parse_format(kDefaultFormat));
    const std::string header = header_line(cells), job = job_line(cells, only_view(running_job()));
    for (const auto &[title, value] : {std::pair{"GPUS", "4"}, {"MAX", "8"}, {"STATE", "steady"}}) {
        const std::size_t title_end = header.find(title) + std::string_view(title).size();
        const std::string_view column = std::string_view(job).substr(0, title_end);
        ck_assert_msg(column.ends_with(value), "%s not under %s:\n%s\n%s", value, title,
                      header.c_str(), job.c_str());
    }
}

TEST(states_follow_slurm_and_the_intent) {
    ListedJob job = running_job();
    EXPECT_TEXT(
        only_view(with_intent(job, {.state = IntentState::asked, .gpus = 4, .target = 8})).state,
        "asked");
    ck_assert_int_eq(
        only_view(with_intent(job, {.state = IntentState::asked, .gpus = 4, .target = 8})).target,
        8);
    job.completing = true;
    EXPECT_TEXT(only_view(with_intent(job, {.state = IntentState::asked})).state, "leaving");
    EXPECT_TEXT(only_view(with_intent(job, {.state = IntentState::running})).state, "ending");
    job.completing = false, job.pending = true, job.reason = "Resources";
    EXPECT_TEXT(only_view(with_intent(job, {.state = IntentState::queued})).state, "new");
    EXPECT_TEXT(only_view(with_intent(job, {.state = IntentState::released, .gpus = 4})).state,
                "waits");
    EXPECT_TEXT(only_view(job).reason, "Resources");
    ck_assert_int_eq(only_view(job).gpus, 0);
}

TEST(a_paused_job_shows_since_when) {
    ListedJob job = running_job();
    job.pending = true, job.reason = "BeginTime";
    job = with_intent(job, {.state = IntentState::paused,
                            .gpus = 4,
                            .target = 1,
                            .since_s = 1763721600,
                            .why = "paused"});
    const JobView view = only_view(job);
    EXPECT_TEXT(shown(view, "%s|%n|%r|%g"), "paused|-|Paused|0");
    ck_assert_double_eq(view.paused_since_s.value_or(0), 1763721600);
    job.reason = "JobHeldUser";
    EXPECT_TEXT(shown(only_view(job), "%s|%n|%r"), "waits|1|JobHeldUser");
    job.reason = "Resources";  // its user set its start time to now
    ck_assert(!only_view(job).paused_since_s);
}

TEST(unreported_values_are_not_invented) {
    ListedJob job = running_job();
    job.comment = "";
    EXPECT_TEXT(shown(only_view(job), "%p %k %v %y %e"), "- - - - -");
    // A step time measured at another size does not apply to this one.
    job.comment =
        format_telemetry(Telemetry{.gpus = 2, .step = 5, .step_ms = 100, .steps_left = 10});
    EXPECT_TEXT(shown(only_view(job), "%p %v %e"), "5 - -");
    // An older library, or no batch: steps alone.
    job.comment = format_telemetry(Telemetry{.gpus = 4, .step = 5, .step_ms = 100});
    EXPECT_TEXT(shown(only_view(job), "%p %v %y"), "5 100.0 -");
    EXPECT_TEXT(shown(only_view(running_job()), "%v %y"), "250.0 256.0");
}

TEST(rigid_jobs_are_not_listed) {
    ListedJob job = running_job();
    job.admin_comment = "some site's note";
    ck_assert(!passes(job, {}));
}

TEST(filters_select_as_squeue_does) {
    ListedJob job = running_job();
    ck_assert(passes(job, {.jobs = {{3}, {7}}}) && !passes(job, {.jobs = {{8}}}));
    ck_assert(passes(job, {.users = {"ada"}}) && passes(job, {.users = {"1000"}}) &&
              !passes(job, {.users = {"bob"}}));
    ck_assert(passes(job, {.states = {"r"}}) && passes(job, {.states = {"running"}}) &&
              !passes(job, {.states = {"PD"}}));
    ck_assert(passes(job, {.partitions = {"main"}}) && !passes(job, {.partitions = {"mai"}}));
    job.ended = true, job.state = "COMPLETED", job.state_short = "CD";
    ck_assert(!passes(job, {}) && passes(job, {.states = {"all"}}) &&
              passes(job, {.states = {"CD"}}));
}

TEST(tasks_of_an_array_are_named_as_squeue_does) {
    ListedJob job = running_job();
    EXPECT_TEXT(shown(only_view(job), "%i"), "7");
    job.task = "5_3";
    EXPECT_TEXT(shown(only_view(job), "%i"), "5_3");
    const auto is = [&](const char *wanted) {
        const auto parsed = parse_wanted(wanted);
        ck_assert_msg(parsed.has_value(), "%s", wanted);
        EXPECT_TEXT(parsed->text(), wanted);
        return passes(job, {.jobs = {*parsed}});
    };
    ck_assert(is("7") && is("5") && is("5_3"));
    ck_assert(!is("3") && !is("5_30") && !is("5_0") && !is("7_3") && !is("50"));
    job.task = "5_[0-4,7,10-20:5%2]";
    ck_assert(is("5") && is("5_0") && is("5_4") && is("5_7") && is("5_10") && is("5_20"));
    ck_assert(!is("5_5") && !is("5_11") && !is("5_21") && !is("5_2000000000"));
    job.task = "5_[1,3,...]";  // truncated
    ck_assert(is("5_3") && !is("5_5"));
    for (const char *odd : {"5_[", "5_", "5_[-]", "5_[3-]", "5_[1-9:0]", "5_[]"}) {
        job.task = odd;
        ck_assert(is("5") && !is("5_1"));
    }
    using Order = std::pair<uint32_t, uint32_t>;
    ck_assert(order_of(9, "5_3") == Order(5, 3) && order_of(5, "5_[7-9]") == Order(5, 7));
    ck_assert(order_of(9, "") == Order(9, 0) && order_of(9, "x") == Order(9, 0));
    for (const char *odd : {"", "0", "x", "5_", "5_x", "5_3_4", "-5", "5_[3]", "4294967296", "5 "})
        ck_assert_msg(!parse_wanted(odd), "%s", odd);
}

TEST(jobs_come_in_the_order_of_their_ids) {
    std::vector<ListedJob> jobs(3, running_job());
    jobs[0].id = 12, jobs[1].id = 3, jobs[2].id = 7;
    const auto views = view_jobs(jobs, {}, 1100);
    ck_assert(views[0].id == 3 && views[1].id == 7 && views[2].id == 12);
}

TEST(hostile_names_cannot_reach_the_terminal) {
    EXPECT_TEXT(printable("a\x1b[2Jb\n\t\x7f"), "a\\x1b[2Jb\\x0a\\x09\\x7f");
    EXPECT_TEXT(printable("ok é 日本 😀"), "ok é 日本 😀");
    EXPECT_TEXT(printable("\xff\xc0\xaf\xed\xa0\x80"), "\\xff\\xc0\\xaf\\xed\\xa0\\x80");
    EXPECT_TEXT(printable("a\u202eb\u2066"), "a\\u{202e}b\\u{2066}");
    EXPECT_TEXT(printable("\xc2\x9b"
                          "2J"),
                "\\x9b2J");  // a C1 control also introduces a sequence
    EXPECT_TEXT(printable("cut \xf0\x9f\x98"), "cut \\xf0\\x9f\\x98");
}

TEST(any_bytes_become_printable_text_and_valid_json) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 2000; ++round) {
        ListedJob job = running_job();
        for (std::string *text : {&job.name, &job.user, &job.reason, &job.comment}) {
            text->resize(random() % 40);
            for (char &c : *text) c = static_cast<char>(random());
        }
        const auto view = view_jobs(std::span(&job, 1), {}, 1100);
        for (const unsigned char c : shown(view.at(0), "%j%u%r%p"))
            ck_assert_msg(c >= 0x20 && c != 0x7f, "byte %d", c);
        const Json json = Json::parse(jobs_json(view, std::nullopt, 1100));
        ck_assert_uint_eq(json["jobs"].size(), 1);
    }
}

TEST(formats_are_squeues) {
    const JobView view = only_view(running_job());
    EXPECT_TEXT(shown(view, "[%.5g]%6j|"), "[    4]train |");
    EXPECT_TEXT(shown(view, "%3j %.3j"), "tra tra");
    EXPECT_TEXT(shown(view, "é%g"), "é4");
    for (const char *wrong : {"%", "%.", "%5", "%q", "%.5", "%j %"})
        ck_assert_msg(std::holds_alternative<std::string>(parse_format(wrong)), "accepted %s",
                      wrong);
    EXPECT_TEXT(shown(view, "%.99999999999999999999g").substr(0, 3), "   ");
}

TEST(widths_count_characters_not_bytes) {
    EXPECT_TEXT(fit("日本", 4, true), "  日本");
    EXPECT_TEXT(fit("日本語", 2, false), "日本");
}

TEST(durations_are_squeues) {
    EXPECT_TEXT(duration(0), "0:00");
    EXPECT_TEXT(duration(3599.9), "59:59");
    EXPECT_TEXT(duration(3600), "1:00:00");
    EXPECT_TEXT(duration(90061), "1-01:01:01");
    EXPECT_TEXT(duration(-1), "INVALID");
    EXPECT_TEXT(duration(1e300), "INVALID");
}

TEST(json_has_null_for_what_is_unknown) {
    ListedJob job = running_job();
    job.comment = "";
    const JobView view = only_view(job);
    const Json json = Json::parse(jobs_json(std::span(&view, 1), std::nullopt, 1100))["jobs"][0];
    ck_assert(json["step"].is_null() && json["left_s"].is_null() && json["next"].is_null());
    ck_assert_int_eq(json["gpus"].get<int>(), 4);
    ck_assert_uint_eq(Json::parse(jobs_json({}, std::nullopt, 1))["jobs"].size(), 0);
}

TEST(jobs_are_sorted_by_any_column) {
    std::vector<JobView> jobs(3);
    jobs[0] = {.id = 1, .name = "b", .gpus = 10};
    jobs[1] = {.id = 2, .name = "a", .gpus = 2};
    jobs[2] = {.id = 3, .name = "a", .gpus = 10};
    const auto order = [&](const char *spec) {
        sort_jobs(jobs, std::get<std::vector<SortKey>>(parse_sort(spec)));
        std::string ids;
        for (const JobView &job : jobs) ids += std::to_string(job.id);
        return ids;
    };
    EXPECT_TEXT(order("g,i"), "213");
    EXPECT_TEXT(order("-g,i"), "132");
    EXPECT_TEXT(order("j,-i"), "321");
    EXPECT_TEXT(order(""), "321");
    for (const char *wrong : {"q", "-", "g,,", "gi", ","})
        ck_assert_msg(std::holds_alternative<std::string>(parse_sort(wrong)), "took %s", wrong);
}

TEST(a_summary_counts_all_jobs_gpus) {
    ListedJob rigid = running_job(), waiting = running_job(), ended = running_job();
    rigid.admin_comment = "", waiting.pending = true, ended.ended = true;
    rigid.gpus = 6, waiting.gpus = 0;
    const std::vector<ListedJob> jobs{running_job(), rigid, waiting, ended};
    const Summary summary = summarize(jobs, 16, 4);
    EXPECT_TEXT(summary_text(summary),
                "10 of 16 GPUs in use, 2 free, 3 borrowed, 4 on nodes that are down; "
                "malleable jobs: 1 runs, 1 waits");
}

TEST(top_fits_its_screen) {
    std::vector<JobView> jobs(40);
    for (std::size_t i = 0; i < jobs.size(); ++i)
        jobs[i] = {.id = static_cast<uint32_t>(i + 1),
                   .name = "naïve-name-that-is-long",
                   .state = "asked",
                   .reason = "KeepsForRigid",
                   .gpus = static_cast<int>(i) * 40,
                   .gpus_max = 2000,
                   .target = 4};
    for (const std::size_t columns : {30, 80, 132}) {
        const auto lines = top_lines(jobs, {}, {.columns = columns, .utf8 = true}, 20);
        ck_assert_uint_le(lines.size(), 20);
        ck_assert(lines.back().starts_with("... 24 more"));
        for (const std::string &line : lines)
            ck_assert_msg(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }) <=
                              static_cast<long>(columns),
                          "too wide: %s", line.c_str());
    }
}

namespace {

std::optional<int> parsed(std::vector<const char *> arguments, Options &out) {
    arguments.insert(arguments.begin(), "ringstat");
    return parse_options(static_cast<int>(arguments.size()), const_cast<char **>(arguments.data()),
                         out);
}

}  // namespace

TEST(options_are_squeues) {
    Options o;
    ck_assert(
        !parsed({"-h", "-u", "ada,bob", "-j", "3,4_7", "-t", "PD,R", "-o", "%i", "-i", "2"}, o));
    ck_assert(!o.header && o.filter.users.size() == 2 && o.filter.states.size() == 2 &&
              o.iterate_s == 2);
    ck_assert(o.filter.jobs == (std::vector<WantedJob>{{3}, {4, 7}}));
    Options explain;
    ck_assert(!parsed({"explain", "12"}, explain));
    ck_assert(explain.command == Command::explain && explain.job == WantedJob{12});
    Options chart;
    ck_assert(!parsed({"chart", "--since", "1h", "--me", "3", "4"}, chart));
    ck_assert(chart.command == Command::chart && chart.filter.jobs.size() == 2 &&
              chart.since_s > 0 && chart.filter.users.front() == std::to_string(getuid()));
}

TEST(wrong_options_exit_with_2) {
    for (const std::vector<const char *> &arguments :
         std::vector<std::vector<const char *>>{{"-j", "abc"},
                                                {"-j", "0"},
                                                {"-j", "99999999999"},
                                                {"-i", "0"},
                                                {"-o", "%q"},
                                                {"explain"},
                                                {"explain", "x"},
                                                {"explain", ""},
                                                {"history", "--since", "soon"},
                                                {"history", "--since", "1h", "--until", "2h"},
                                                {"chart", "x"},
                                                {"-S", "q"},
                                                {"nonsense"},
                                                {"--nonsense"}}) {
        Options o;
        const auto status = parsed(arguments, o);
        ck_assert_msg(status && *status == kUsage, "accepted %s", arguments.front());
    }
}

int main() { return ringrt::test::run_all("ringstat"); }
