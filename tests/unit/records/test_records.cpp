// SPDX-License-Identifier: BSD-3-Clause
// The grammar of the flags and the two records, with valid and hostile text.
#include <random>
#include <string>

#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/records/telemetry.h"
#include "tests/support/check.h"

using namespace ringrt::records;

namespace {

std::string range_error(std::string_view text) {
    const auto result = parse_range(text);
    const FlagError *error = std::get_if<FlagError>(&result);
    ck_assert_msg(error != nullptr, "accepted: %.*s", static_cast<int>(text.size()), text.data());
    return error->message;
}

template <typename Value>
Value accepted(const std::variant<Value, FlagError> &result) {
    const FlagError *error = std::get_if<FlagError>(&result);
    ck_assert_msg(error == nullptr, "%s", error ? error->message.c_str() : "");
    return std::get<Value>(result);
}

bool is_one_line(const std::string &text) {
    for (const char c : text)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
            return false;
    return text.size() < 400;
}

Intent random_intent(std::mt19937_64 &random) {
    const auto upto = [&random](int64_t high) {
        return static_cast<int64_t>(random() % static_cast<uint64_t>(high + 1));
    };
    Intent i;
    i.gpus_min = 1 + static_cast<int>(upto(kGpusMax - 1));
    i.gpus_max = i.gpus_min + static_cast<int>(upto(kGpusMax - i.gpus_min));
    i.signal = 1 + static_cast<int>(upto(63));
    i.grace_s = 1 + static_cast<int>(upto(86399));
    i.layout.gpus_per_node = upto(1) ? static_cast<int>(upto(kGpusMax)) : 0;
    i.layout.task_per_node = upto(1) != 0;
    i.state = static_cast<IntentState>(upto(4));
    i.resize_id = static_cast<uint32_t>(random());
    i.gpus = static_cast<int>(upto(kGpusMax));
    i.target = static_cast<int>(upto(kGpusMax));
    i.since_s = 1763721600 + static_cast<double>(upto(100000)) / 10;
    i.asked_s = static_cast<double>(upto(1)) * i.since_s;
    i.begin_s = upto(1) * 1763721600;
    i.start_s = upto(1) * 1763721600;
    i.limit_s = upto(1) ? -1 : upto(31536000);
    i.used_s = upto(31536000);
    // In a later run Slurm chooses only if there is no limit to note. Otherwise the controller set
    // it.
    i.limit_by_slurm = i.limit_s == -1 && upto(1) != 0;
    i.run = static_cast<int>(upto(10)) - 1;
    i.base_step = upto(1'000'000'000) - 1;
    i.resizes = static_cast<int>(upto(9999));
    i.gap_s = static_cast<double>(upto(1000)) / 10;
    i.restart_s = static_cast<double>(upto(1000)) / 10;
    i.start_up_s = static_cast<double>(upto(1000)) / 10;
    if (upto(1) != 0) i.own_nice = upto(2'000'000) - 1'000'000;
    i.exclusions_checksum = upto(1) ? static_cast<uint32_t>(random()) : 0;
    i.own_mails = static_cast<uint8_t>(upto(3));
    i.pause = upto(1) != 0;
    i.good = static_cast<int>(upto(64));
    i.bad = static_cast<int>(upto(64));
    i.why = upto(1) ? "best_gain" : "";
    return i;
}

void expect_equal(const Intent &a, const Intent &b) {
    ck_assert_int_eq(a.gpus_min, b.gpus_min);
    ck_assert_int_eq(a.gpus_max, b.gpus_max);
    ck_assert_int_eq(a.signal, b.signal);
    ck_assert(a.layout == b.layout);
    ck_assert_int_eq(a.grace_s, b.grace_s);
    ck_assert(a.state == b.state);
    ck_assert_uint_eq(a.resize_id, b.resize_id);
    ck_assert_int_eq(a.gpus, b.gpus);
    ck_assert_int_eq(a.target, b.target);
    ck_assert_double_eq_tol(a.since_s, b.since_s, 0.11);
    ck_assert_double_eq_tol(a.asked_s, b.asked_s, 0.11);
    ck_assert_int_eq(a.begin_s, b.begin_s);
    ck_assert_int_eq(a.start_s, b.start_s);
    ck_assert_int_eq(a.limit_s, b.limit_s);
    ck_assert_int_eq(a.limit_by_slurm, b.limit_by_slurm);
    ck_assert_int_eq(a.used_s, b.used_s);
    ck_assert_int_eq(a.run, b.run);
    ck_assert_int_eq(a.base_step, b.base_step);
    ck_assert_int_eq(a.resizes, b.resizes);
    ck_assert_double_eq_tol(a.gap_s, b.gap_s, 1e-9);
    ck_assert_double_eq_tol(a.restart_s, b.restart_s, 1e-9);
    ck_assert_double_eq_tol(a.start_up_s, b.start_up_s, 1e-9);
    ck_assert(a.own_nice == b.own_nice);
    ck_assert_uint_eq(a.exclusions_checksum, b.exclusions_checksum);
    ck_assert_uint_eq(a.own_mails, b.own_mails);
    ck_assert_int_eq(a.pause, b.pause);
    ck_assert(a.good == b.good && a.bad == b.bad);
    // The reason is the only key that is left out of a full record.
    if (!b.why.empty() || format_intent(b).size() + a.why.size() + 5 <= kRecordBytesMax)
        EXPECT_TEXT(b.why, a.why);
}

constexpr std::string_view kTelemetry =
    "ringrt/1 run=3 gpus=4 step=1200 step_ms=132.5 left=8800 ckpt=1180 save_ms=210 "
    "began=1763721600.5 up=1 "
    "speed=1:520,2:270,4:132.5";

// Random bytes, biased toward those with a meaning to the parsers.
std::string random_text(std::mt19937_64 &random, std::size_t longest) {
    static constexpr std::string_view kLiked = "0123456789:-=, .malebringt/1\n\0\x1b\xff";
    std::string text(random() % (longest + 1), '\0');
    for (char &c : text)
        c = random() % 4 == 0 ? static_cast<char>(random()) : kLiked[random() % kLiked.size()];
    return text;
}

}  // namespace

TEST(range_accepts_the_ladder) {
    for (const std::string_view text : {"1:8", "1-8", "2:2", "3:24", "1:65536", "01:08"}) {
        const auto result = parse_range(text);
        ck_assert_msg(std::holds_alternative<GpuRange>(result), "%s", text.data());
    }
    const GpuRange range = std::get<GpuRange>(parse_range("2-16"));
    ck_assert_int_eq(range.min, 2);
    ck_assert_int_eq(range.max, 16);
}

TEST(range_refuses_in_one_line) {
    EXPECT_TEXT(range_error("8:1"), "--malleable: expected MIN:MAX (for example 2:8), got \"8:1\"");
    EXPECT_TEXT(range_error("2:6"),
                "--malleable: MAX must be MIN times a power of two (2:8, not 2:6), got \"2:6\"");
    EXPECT_TEXT(range_error("4:9"),
                "--malleable: MAX must be MIN times a power of two (4:8, not 4:9), got \"4:9\"");
    EXPECT_TEXT(range_error("a\x1b[2J\"\n"),
                "--malleable: expected MIN:MAX (for example 2:8), got \"a\\x1b[2J\\\"\\x0a\"");
    EXPECT_TEXT(range_error("1:131072"),
                "--malleable: expected at most 65536 GPUs (for example 2:8), got \"1:131072\"");
    using namespace std::string_view_literals;
    for (const std::string_view text :
         {""sv, ":"sv, "1:"sv, ":8"sv, "0:8"sv, "-1:4"sv, "1e9:2e9"sv, "2:4;rm"sv, "2:4 "sv,
          " 2:4"sv, "2:\0004"sv, "+1:2"sv, "1:2:4"sv, "1:-2"sv, "99999999999:99999999999"sv, "8"sv})
        ck_assert(range_error(text).starts_with(
            "--malleable: expected MIN:MAX (for example 2:8), got \""));
}

TEST(flags_survive_ten_megabytes) {
    const std::string huge(10 << 20, '1');
    ck_assert(is_one_line(range_error(huge)));
    ck_assert(std::holds_alternative<FlagError>(parse_signal(huge)));
    ck_assert(std::holds_alternative<FlagError>(parse_grace(huge)));
}

TEST(the_sites_text_stays_without_the_record) {
    const Intent intent{.gpus_min = 1, .gpus_max = 8};
    for (const std::string_view text : {"", "site=1", "ticket 42: ask Ann"}) {
        const std::string with = format_into(text, intent);
        EXPECT_TEXT(without_intent(with), std::string(text));
        EXPECT_TEXT(without_intent(text), std::string(text));
        EXPECT_TEXT(without_intent(with + " (seen by Bob)"), std::string(text) + " (seen by Bob)");
    }
}

TEST(signal_by_name_or_number) {
    for (const std::string_view text : {"URG", "SIGURG", "urg", "sigurg", "SigUrg", "23"})
        ck_assert_int_eq(accepted(parse_signal(text)), 23);
    ck_assert_int_eq(accepted(parse_signal("USR1")), 10);
    ck_assert_int_eq(accepted(parse_signal("64")), 64);
    for (const std::string_view text :
         {"",   "0",    "65",     "-1",   "SIG", "SIGSIGURG", "RTMIN+1", "KILL", "sigstop", "9",
          "19", "URG ", "CHLD",   "TERM", "15",  "SIGPIPE",   "CONT",    "segv", "17",      "32",
          "33", "INT",  "SIGINT", "2",    "HUP", "1",         "QUIT",    "3"}) {
        const auto result = parse_signal(text);
        const FlagError *error = std::get_if<FlagError>(&result);
        ck_assert_msg(error && error->message.starts_with("--malleable-signal: expected "), "%s",
                      text.data());
    }
}

TEST(the_largest_size_within_a_limit) {
    ck_assert_int_eq(most_on_ladder({1, 16}, 15), 8);
    ck_assert_int_eq(most_on_ladder({3, 96}, 15), 12);
    ck_assert_int_eq(most_on_ladder({2, 8}, 100), 8);
    ck_assert_int_eq(most_on_ladder({4, 8}, 3), 0);
    ck_assert_int_eq(most_on_ladder({1, kGpusMax}, kGpusMax), kGpusMax);
}

TEST(grace_in_all_of_slurms_forms) {
    ck_assert_int_eq(accepted(parse_grace("2")), 120);
    ck_assert_int_eq(accepted(parse_grace("2:30")), 150);
    ck_assert_int_eq(accepted(parse_grace("1:02:03")), 3723);
    ck_assert_int_eq(accepted(parse_grace("0:05")), 5);
    ck_assert_int_eq(accepted(parse_grace("0-1")), 3600);
    ck_assert_int_eq(accepted(parse_grace("0-1:30")), 5400);
    ck_assert_int_eq(accepted(parse_grace("0-0:0:7")), 7);
    ck_assert_int_eq(accepted(parse_grace("1-0")), 86400);
    for (const std::string_view text : {"", "0", "x", "1:2:3:4", "1-", "-5", "1-0:0:1", ":",
                                        "1:", "2147483648", "99999999", "INFINITE", "1.5"}) {
        const auto result = parse_grace(text);
        ck_assert_msg(std::holds_alternative<FlagError>(result), "accepted %s", text.data());
    }
}

TEST(ladder_membership) {
    ck_assert(on_ladder({2, 16}, 2) && on_ladder({2, 16}, 16) && on_ladder({3, 24}, 12));
    ck_assert(!on_ladder({2, 16}, 6) && !on_ladder({2, 16}, 1) && !on_ladder({2, 16}, 32));
    ck_assert(!on_ladder({0, 16}, 0) && !on_ladder({2, 16}, 0) && !on_ladder({2, 16}, -4));
}

TEST(intent_round_trip) {
    std::mt19937_64 random(1);
    for (int n = 0; n < 20000; ++n) {
        const Intent intent = random_intent(random);
        const std::string text = format_intent(intent);
        ck_assert_msg(text.size() <= kRecordBytesMax, "%zu bytes", text.size());
        const std::optional<Intent> back = parse_intent(text);
        ck_assert_msg(back.has_value(), "%s", text.c_str());
        expect_equal(intent, *back);
        EXPECT_TEXT(format_intent(*back), text);
    }
}

// Extreme numbers neither overflow the record nor make it unreadable.
TEST(intent_of_extremes_stays_bounded) {
    Intent i{.gpus_min = kGpusMax,
             .gpus_max = kGpusMax,
             .signal = 64,
             .grace_s = 86400,
             .layout = {.gpus_per_node = kGpusMax, .task_per_node = true},
             .state = IntentState::released,
             .resize_id = UINT32_MAX,
             .first_gpus = kGpusMax,
             .gpus = kGpusMax,
             .target = kGpusMax,
             .since_s = 1e300,
             .asked_s = 1e300,
             .begin_s = INT64_MAX,
             .start_s = INT64_MAX,
             .limit_s = INT64_MAX,
             .limit_by_slurm = true,
             .used_s = INT64_MAX,
             .run = INT32_MAX,
             .base_step = INT64_MAX,
             .resizes = INT32_MAX,
             .gap_s = 1e300,
             .restart_s = 1e300,
             .start_up_s = 1e300,
             .own_nice = INT64_MIN,
             .exclusions_checksum = UINT32_MAX,
             .own_mails = 255,
             .pause = true,
             .good = INT32_MAX,
             .bad = INT32_MAX,
             .why = "abcdefghijklmnopqrstuvwx"};
    const std::string text = format_intent(i);
    ck_assert_msg(text.size() <= kRecordBytesMax, "%zu bytes: %s", text.size(), text.c_str());
    ck_assert_msg(parse_intent(text).has_value(), "%s", text.c_str());
    i.why = "not a code=1";
    ck_assert(parse_intent(format_intent(i)).has_value());
}

TEST(a_layout_holds_at_every_size) {
    const Layout any, twos{.gpus_per_node = 2},
        launchers{.gpus_per_node = 4, .task_per_node = true};
    ck_assert_int_eq(nodes_of(any, 8, 4), 2);
    ck_assert_int_eq(nodes_of(any, 3, 4), 1);
    ck_assert_int_eq(nodes_of(any, 3, 0), 3);   // nodes with an unknown number of GPUs
    ck_assert_int_eq(nodes_of(any, 16, 6), 4);  // four on each: three nodes cannot share them
    ck_assert_int_eq(nodes_of(any, 7, 4), 7);
    ck_assert_int_eq(nodes_of(twos, 1, 4), 1);
    ck_assert_int_eq(nodes_of(twos, 8, 4), 4);
    ck_assert_int_eq(nodes_of(twos, kGpusMax, INT32_MAX), kGpusMax / 2);
    ck_assert_int_eq(tasks_of(twos, 8, 4), 8);
    ck_assert_int_eq(nodes_of(launchers, 8, 8), 2);
    ck_assert_int_eq(nodes_of(launchers, 2, 8), 1);
    ck_assert_int_eq(tasks_of(launchers, 8, 2), 2);
}

TEST(intent_refuses_what_is_malformed) {
    ck_assert(parse_intent("malleable/1 min=1 max=8 state=running").has_value());
    ck_assert(
        parse_intent("site text malleable/1 min=1 max=8 state=running new_key=x").has_value());
    for (const std::string_view text :
         {"", "malleable/1", "malleable/1 min=1 max=8", "malleable/1 min=8 max=1 state=running",
          "malleable/1 min=0 max=8 state=running", "malleable/1 min=1 max=8 state=walking",
          "malleable/1 min=1 min=2 max=8 state=running",
          "malleable/1 min=1 max=8 state=running sig=99",
          "malleable/1 min=1 max=8 state=running node=0",
          "malleable/1 min=1 max=8 state=running node=65537",
          "malleable/1 min=1 max=8 state=running tasks=gpu",
          "malleable/1 min=1 max=8 state=running gap=nan",
          "malleable/1 min=1 max=8 state=running gap=-1", "malleable/2 min=1 max=8 state=running",
          "xmalleable/1 min=1 max=8 state=running", "malleable/1\nmin=1 max=8 state=running",
          "malleable/1 min=1 max=99999999999999999999 state=asked",
          "malleable/1 min=1 max=8 state=running malleable/1 min=x"})
        ck_assert_msg(!parse_intent(text).has_value(), "accepted: %s", text.data());
}

TEST(format_into_keeps_the_sites_text) {
    const Intent a{.gpus_min = 1, .gpus_max = 8}, b{.gpus_min = 2, .gpus_max = 4, .resize_id = 7};
    for (const std::string site : {"", "billing=42", "line one\nline two", "ends with space "}) {
        const std::string once = format_into(site, a);
        ck_assert_msg(once.starts_with(site), "%s", once.c_str());
        EXPECT_TEXT(format_into(once, a), once);
        EXPECT_TEXT(format_into(once, b), format_into(site, b));
        const std::string more = once + "\nadded by an admin";
        ck_assert_msg(format_into(more, b).ends_with("\nadded by an admin"), "%s",
                      format_into(more, b).c_str());
        ck_assert_int_eq(parse_intent(format_into(more, b))->gpus_min, 2);
    }
}

TEST(telemetry_round_trip) {
    const std::optional<Telemetry> t = parse_telemetry(kTelemetry);
    ck_assert(t.has_value());
    ck_assert_int_eq(t->run, 3);
    ck_assert_uint_eq(t->step, 1200);
    ck_assert_int_eq(t->samples, 3);
    ck_assert_double_eq(t->speed[2].step_ms, 132.5);
    ck_assert(t->up);
    EXPECT_TEXT(format_telemetry(*t), std::string(kTelemetry));
    ck_assert(parse_telemetry(format_into("user's note", *t)).has_value());
    ck_assert_int_eq(parse_telemetry("ringrt/1 run=0 gpus=1 step=0")->steps_left, -1);
}

TEST(samples_travel_with_the_batch_of_the_steps) {
    const std::string_view text =
        "ringrt/1 run=0 gpus=8 step=100 step_ms=75.8 left=62400 batch=128 samples=102400 ckpt=0 "
        "up=1 speed=8:75.8";
    const std::optional<Telemetry> t = parse_telemetry(text);
    ck_assert(t.has_value());
    EXPECT_TEXT(format_telemetry(*t), std::string(text));
    ck_assert_double_eq(t->steps_done(), 800);
    ck_assert_double_eq_tol(t->samples_per_s(), 1688.65, 0.01);
    const std::optional<Telemetry> steps_only = parse_telemetry(kTelemetry);
    ck_assert_double_eq(steps_only->steps_done(), 1200);
    ck_assert_double_eq(steps_only->samples_per_s(), 0);
}

TEST(planned_speeds_travel_beside_the_measured_ones) {
    const std::string_view text =
        "ringrt/1 run=0 gpus=2 step=9 ckpt=0 up=1 speed=2:270 plan=1:500,2:260,4:140";
    const std::optional<Telemetry> t = parse_telemetry(text);
    ck_assert(t.has_value());
    ck_assert_int_eq(t->samples, 1);
    ck_assert_int_eq(t->planned_sizes, 3);
    ck_assert_int_eq(t->planned[2].gpus, 4);
    ck_assert_double_eq(t->planned[2].step_ms, 140);
    EXPECT_TEXT(format_telemetry(*t), std::string(text));
    ck_assert(!parse_telemetry("ringrt/1 run=0 gpus=2 step=9 plan=2:-1").has_value());
    ck_assert(!parse_telemetry("ringrt/1 run=0 gpus=2 step=9 "
                               "plan=1:1,2:1,3:1,4:1,5:1,6:1,7:1,8:1,9:1")
                   .has_value());
}

TEST(telemetry_is_range_checked) {
    for (const std::string_view text :
         {"", "ringrt/1", "ringrt/1 run=0 gpus=1", "ringrt/1 run=0 gpus=0 step=1",
          "ringrt/1 run=-1 gpus=1 step=1", "ringrt/1 run=0 gpus=1 step=-1",
          "ringrt/1 run=0 gpus=1 step=1 step_ms=nan", "ringrt/1 run=0 gpus=1 step=1 step_ms=inf",
          "ringrt/1 run=0 gpus=1 step=1 step_ms=-5", "ringrt/1 run=0 gpus=1 step=1 up=2",
          "ringrt/1 run=0 gpus=1 step=1 speed=1", "ringrt/1 run=0 gpus=1 step=1 speed=1:x",
          "ringrt/1 run=0 gpus=1 step=1 speed=0:5", "ringrt/1 run=0 gpus=1 step=1 batch=0",
          "ringrt/1 run=0 gpus=1 step=1 batch=4294967296",
          "ringrt/1 run=0 gpus=1 step=1 batch=8 samples=-1",
          "ringrt/1 run=0 gpus=1 step=99999999999999999999"})
        ck_assert_msg(!parse_telemetry(text).has_value(), "accepted: %s", text.data());
    std::string many = "ringrt/1 run=0 gpus=1 step=1 speed=1:1";
    for (int i = 2; i < 40; ++i) many += "," + std::to_string(i) + ":1";
    ck_assert(!parse_telemetry(many).has_value());
}

TEST(telemetry_stays_bounded) {
    Telemetry t{.run = INT32_MAX,
                .gpus = kGpusMax,
                .step = UINT64_MAX,
                .step_ms = 1e300,
                .steps_left = INT64_MAX,
                .batch = UINT32_MAX,
                .trained = UINT64_MAX,
                .ckpt_step = UINT64_MAX,
                .save_ms = 1e300,
                .began_s = 1e300,
                .up = true,
                .samples = kSpeedSamplesMax,
                .planned_sizes = kPlannedSpeedsMax};
    for (int i = 0; i < kSpeedSamplesMax; ++i) t.speed[i] = {kGpusMax - i, 123456.789 + i};
    for (int i = 0; i < kPlannedSpeedsMax; ++i) t.planned[i] = {kGpusMax - i, 123456.789 + i};
    ck_assert(format_telemetry(t).size() <= kRecordBytesMax);
    ck_assert(format_telemetry(t).find(" speed=65536:") != std::string::npos);  // there is room
}

TEST(every_prefix_and_every_changed_byte_is_survived) {
    std::mt19937_64 random(2);
    const std::string intent = format_intent(random_intent(random));
    for (const std::string &whole : {intent, std::string(kTelemetry)}) {
        for (std::size_t n = 0; n <= whole.size(); ++n) {
            (void)parse_intent(whole.substr(0, n));
            (void)parse_telemetry(whole.substr(n));
        }
        for (int n = 0; n < 50000; ++n) {
            std::string changed = whole;
            changed[random() % changed.size()] = static_cast<char>(random());
            if (const auto i = parse_intent(changed)) {
                ck_assert_int_ge(i->gpus_min, 1);
                ck_assert_int_ge(i->gpus_max, i->gpus_min);
                ck_assert_int_le(i->gpus_max, kGpusMax);
            }
            if (const auto t = parse_telemetry(changed))
                ck_assert_int_le(t->samples, kSpeedSamplesMax);
        }
    }
}

TEST(random_text_is_survived) {
    std::mt19937_64 random(3);
    for (int n = 0; n < 200000; ++n) {
        const std::string text = random_text(random, 90);
        if (const auto range = parse_range(text);
            const auto *error = std::get_if<FlagError>(&range))
            ck_assert(is_one_line(error->message));
        (void)parse_signal(text);
        (void)parse_grace(text);
        ck_assert(!parse_intent(text) || parse_intent(text)->gpus_min >= 1);
        (void)parse_telemetry(text);
        const std::string into = format_into(text, Intent{});
        ck_assert(parse_intent(into).has_value());
        ck_assert(format_into(into, Intent{}) == into);
    }
}

TEST(records_survive_ten_megabytes) {
    std::string huge;
    while (huge.size() < (10 << 20)) huge += "malleable/1 ringrt/1 min=1 ";
    (void)parse_intent(huge);
    (void)parse_telemetry(huge);
    std::string fields = "malleable/1 min=1 max=8 state=running";
    while (fields.size() < (10 << 20)) fields += " a=b";
    ck_assert(!parse_intent(fields).has_value());
    const std::string into = format_into(std::string(10 << 20, 'x'), Intent{});
    ck_assert(parse_intent(into).has_value());
}

int main() { return ringrt::test::run_all("records"); }
