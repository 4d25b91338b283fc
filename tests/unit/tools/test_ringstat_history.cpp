// SPDX-License-Identifier: BSD-3-Clause
// ringstat's view of the event log: torn lines, times, the timeline and its pictures.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/support/check.h"
#include "tools/ringstat/chart.h"
#include "tools/ringstat/chart_svg.h"
#include "tools/ringstat/report.h"
#include "tools/ringstat/text.h"
#include "tools/ringstat/when.h"

using namespace ringrt::ringstat;
using Json = nlohmann::json;

namespace {

std::vector<PastEvent> two_jobs() {
    return {{.time_s = 100, .job = 1, .event = "released", .to = 8, .name = "base", .user_id = 7},
            {.time_s = 110, .job = 1, .event = "started", .to = 8, .name = "base", .user_id = 7},
            {.time_s = 130, .job = 1, .event = "asked", .from = 8, .to = 4},
            {.time_s = 131, .job = 1, .event = "requeued", .from = 8, .to = 4},
            {.time_s = 134, .job = 1, .event = "resized", .from = 8, .to = 4},
            {.time_s = 140, .job = 2, .event = "called_off", .from = 2, .to = 4},
            {.time_s = 150, .job = 0, .event = "error"},
            {.time_s = 160, .job = 1, .event = "ended", .text = "has ended"}};
}

std::string shape(const JobLane &lane) {
    std::string out;
    for (const Phase &phase : lane.phases)
        out += std::to_string(static_cast<int>(phase.start_s)) + "-" +
               std::to_string(static_cast<int>(phase.end_s)) + ":" + std::to_string(phase.gpus) +
               " ";
    return out;
}

}  // namespace

TEST(torn_and_foreign_event_lines_are_skipped) {
    const std::string good =
        R"({"time":1763721600.25,"job":12,"event":"resized","from":2,"to":8,"reason":"best_gain","gap_s":2.3,"text":"x"})";
    const auto event = parse_event(good);
    ck_assert(event && event->job == 12 && event->from == 2 && event->to == 8 &&
              event->gap_s == 2.3);
    for (std::size_t bytes = 0; bytes < good.size(); ++bytes)
        ck_assert_msg(!parse_event(good.substr(0, bytes)), "accepted a line torn after %zu bytes",
                      bytes);
    for (const char *wrong :
         {"[]", "{}", "{\"time\":1}", "null", "{\"time\":\"x\",\"event\":\"a\"}"})
        ck_assert_msg(!parse_event(wrong), "accepted %s", wrong);
    ck_assert(!parse_event("{\"event\":\"" + std::string(5000, 'a') + "\"}"));
    const auto odd =
        parse_event(R"({"time":5,"event":"resized","job":-3,"from":1e99,"to":"a","gap_s":null})");
    ck_assert(odd && odd->job == 0 && odd->from == 0 && odd->to == 0);
    ck_assert(!parse_event(std::string(3000, '[')));
}

TEST(history_is_one_jobs_or_all) {
    const std::string path = "ringstat-history-" + std::to_string(getpid()) + ".jsonl";
    std::ofstream(path) << R"({"time":1,"job":1,"event":"asked","from":1,"to":2})"
                        << "\n"
                        << R"({"time":2,"job":2,"array_task":"9_4","event":"started"})"
                        << "\ntorn\n";
    const History history = read_history(path);
    ck_assert_uint_eq(history.events.size(), 2);
    ck_assert_uint_eq(history.lines_skipped, 1);
    ck_assert_uint_eq(select(history.events, {.job = WantedJob{2}}).size(), 1);
    ck_assert_uint_eq(select(history.events, {.job = WantedJob{9, 4}}).size(), 1);
    ck_assert_uint_eq(select(history.events, {.job = WantedJob{9, 5}}).size(), 0);
    ck_assert(event_line(history.events.at(1)).find("      9_4 ") != std::string::npos);
    ck_assert_uint_eq(select(history.events, {.since_s = 2}).front().job, 2);
    ck_assert_uint_eq(select(history.events, {.until_s = 1}).front().job, 1);
    ck_assert_uint_eq(select(history.events, {.last = 1}).front().job, 2);
    ck_assert(Json::accept(history_json(history.events)));
    // Files that the plugin or logrotate has renamed are read first.
    ck_assert(rename(path.c_str(), (path + ".1").c_str()) == 0);
    std::ofstream(path) << R"({"time":3,"job":3,"event":"started","name":"a","user":7})";
    const History both = read_history(path);
    ck_assert(both.events.size() == 3 && both.events[2].name == "a" && both.events[2].user_id == 7);
    unlink(path.c_str());
    unlink((path + ".1").c_str());
    ck_assert(!read_history(path).error.empty());
}

TEST(times_are_read) {
    ck_assert(*parse_when("now", 5000) == 5000 && *parse_when("10m", 5000) == 4400);
    ck_assert(*parse_when("1.5h", 10000) == 4600 && *parse_when("2d", 200000) == 27200);
    setenv("TZ", "UTC", 1);
    tzset();
    ck_assert(*parse_when("1970-01-02", 0) == 86400);
    ck_assert(*parse_when("1970-01-02T01:00", 0) == 90000);
    ck_assert(*parse_when("1970-01-02T01:00:05", 0) == 90005);
    ck_assert(*parse_when("00:30", 86400 + 7) == 86400 + 1800);
    for (const char *wrong : {"", "x", "10", "10x", "-5m", "1970-01-02T", "1970-13-01", "25:00",
                              "nan m", "1e9d", "10:30 ", "99999999999999999999d"})
        ck_assert_msg(!parse_when(wrong, 1e9), "accepted %s", wrong);
}

TEST(a_timeline_is_built_from_events) {
    const Timeline timeline = make_timeline(two_jobs(), 0, 200);
    ck_assert_uint_eq(timeline.lanes.size(), 2);
    EXPECT_TEXT(shape(timeline.lanes[0]), "100-110:0 110-131:8 131-134:0 134-160:4 ");
    EXPECT_TEXT(timeline.lanes[0].name + timeline.lanes[0].end, "basehas ended");
    ck_assert_int_eq(timeline.lanes[0].resizes, 1);
    EXPECT_TEXT(shape(timeline.lanes[1]),
                "100-200:2 ");  // ran before the log began, and is still running
    ck_assert(sizes_of(timeline) == (std::vector<int>{2, 4, 8}));
    ck_assert_int_eq(gpus_at(timeline.lanes[0], 132), 0);
    ck_assert_int_eq(gpus_at(timeline.lanes[0], 135), 4);
    ck_assert_int_eq(gpus_at(timeline.lanes[0], 170), -1);
}

TEST(a_timeline_is_cut_to_its_window) {
    Timeline timeline = make_timeline(two_jobs(), 120, 150);
    EXPECT_TEXT(shape(timeline.lanes[0]), "120-131:8 131-134:0 134-150:4 ");
    ck_assert(make_timeline(two_jobs(), 170, 180).lanes.size() == 1);
    timeline = make_timeline(two_jobs(), 0, 200);
    start_at_first(timeline);
    ck_assert(timeline.start_s == 100);
}

TEST(a_job_requeued_after_its_end_continues) {
    std::vector<PastEvent> events = two_jobs();
    events.push_back({.time_s = 170, .job = 1, .event = "started", .to = 2});
    EXPECT_TEXT(shape(make_timeline(events, 0, 200).lanes[0]),
                "100-110:0 110-131:8 131-134:0 134-160:4 170-200:2 ");
}

TEST(a_chart_has_a_line_per_job_and_fits) {
    setenv("TZ", "UTC", 1);
    tzset();
    const Timeline timeline = make_timeline(two_jobs(), 100, 160);
    for (const std::size_t columns : {40, 80, 200}) {
        std::istringstream lines(chart_text(timeline, {.columns = columns, .utf8 = false}));
        std::vector<std::string> all;
        for (std::string line; std::getline(lines, line);) all.push_back(line);
        ck_assert_uint_eq(all.size(), 4);
        for (const std::string &line : all)
            ck_assert_msg(line.size() <= std::max<std::size_t>(columns, 45) || &line == &all[3],
                          "%zu columns: %s", columns, line.c_str());
    }
    // 57 cells of 60 seconds, a character each.
    const std::string text = chart_text(timeline, {.columns = 80, .utf8 = false});
    EXPECT_TEXT(text.substr(0, text.find('\n')),
                "        1 base         " + std::string(10, '.').substr(1) + std::string(20, '8') +
                    "..." + std::string(25, '4'));
    ck_assert(text.find("00:02:00") != text.npos);
    ck_assert(text.find("GPUs: 2 2  4 4  8 8  . waits") != text.npos);
    const std::string blocks = chart_text(timeline, {.columns = 80, .utf8 = true});
    ck_assert(blocks.find("GPUs: ▃ 2  ▅ 4  █ 8") != blocks.npos);
}

TEST(clock_marks_are_few_and_whole) {
    for (const double whole_s : {1.0, 59.0, 3600.0, 86400.0, 1e7, 1e9}) {
        const auto marks = clock_marks(1e9, 1e9 + whole_s, 6);
        ck_assert_msg(marks.size() <= 7, "%zu marks in %g s", marks.size(), whole_s);
        for (const double mark : marks) ck_assert(mark >= 1e9 && mark < 1e9 + whole_s);
    }
}

TEST(a_picture_is_well_formed_whatever_the_names) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 200; ++round) {
        std::vector<PastEvent> events = two_jobs();
        for (PastEvent &event : events) {
            event.name.resize(random() % 30);
            for (char &c : event.name) c = static_cast<char>(random());
        }
        events[1].name = "<&\"'>]]>";
        const Timeline timeline = make_timeline(events, 0, 200);
        const std::string svg = chart_svg(timeline);
        ck_assert(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        for (const unsigned char c : svg) ck_assert(c >= 0x20 || c == '\n');
        std::size_t opened = 0, closed = 0;
        for (const char c : svg) opened += c == '<', closed += c == '>';
        ck_assert_uint_eq(opened, closed);
        ck_assert(svg.find("prefers-color-scheme:dark") != svg.npos);
        ck_assert(Json::accept(chart_json(timeline)));
    }
    EXPECT_TEXT(chart_json(make_timeline({}, 0, 1)).substr(0, 1), "{");
}

int main() { return ringrt::test::run_all("ringstat_history"); }
