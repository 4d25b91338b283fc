// SPDX-License-Identifier: BSD-3-Clause
// The facts that ringrtd writes for job_submit/malleable, and its answers over HTTP: right, wrong,
// torn, old.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/host/facts_file.h"
#include "slurm_plugin/slurm/host/known_intents.h"
#include "slurm_plugin/slurm/ringrtd/metrics_server.h"
#include "tests/support/check.h"
#include "tests/support/directory.h"

namespace {

using namespace ringrt::slurm;

SubmitFacts some_facts() {
    SubmitFacts facts;
    facts.at_s = 12.5;
    facts.hold_s = 10;
    facts.partitions["main"] = {16, 4, 4, true, false};
    facts.partitions["short"] = {8, 8, 1, false, true};
    return facts;
}

struct Directory : ringrt::test::TemporaryDirectory {
    [[nodiscard]] std::string file(const std::string &text) const {
        std::ofstream(path + "/facts", std::ios::trunc) << text;
        chmod((path + "/facts").c_str(), 0644);
        return path + "/facts";
    }
};

TEST(facts_are_read_as_written) {
    const SubmitFacts facts = some_facts();
    ck_assert(parse_facts(format_facts(facts)) == facts);
    ck_assert_int_eq(view_in(facts, "short").gpus_in_all, 8);
    ck_assert_int_eq(view_in(facts, "").gpus_per_node, 4);  // the default one
    ck_assert_int_eq(view_in(facts, "short").nodes, 1);
    ck_assert_int_eq(view_in(facts, "none").gpus_in_all, 0);
    ck_assert_int_eq(view_in(facts, "none").hold_s, 10);
    ck_assert(view_in(facts, "short").whole_nodes == 1 && view_in(facts, "").whole_nodes == 0);
}

TEST(a_truncated_file_does_not_count) {
    const std::string text = format_facts(some_facts());
    for (std::size_t cut = 0; cut < text.size(); ++cut)
        ck_assert_msg(!parse_facts(text.substr(0, cut)), "cut at %zu", cut);
    ck_assert(!parse_facts(std::string(kFactsBytesMax + 1, 'x')));
    for (const char *bad :
         {"end\n", "ringrt-facts/2\nend\n", "ringrt-facts/2 5 9999\nend\n",
          "ringrt-facts/2 -5 1\nend\n", "ringrt-facts/2 5 1 x\nend\n",
          "ringrt-facts/2 5 1\npartition a 1 1 1\nend\n",
          "ringrt-facts/2 5 1\npartition a 1 1 1 4\nend\n",
          "ringrt-facts/2 5 1\npartition a 1 1 1 1\npartition a 1 1 1 1\nend\n",
          "ringrt-facts/2 5 1\npartition a 9999999999 1 1 1\nend\n", "ringrt-facts/9 5 1\nend\n"})
        ck_assert_msg(!parse_facts(bad), "%s", bad);
}

// Whatever bytes change, accepted values are within bounds.
TEST(random_changes_leave_bounds) {
    const std::string whole = format_facts(some_facts());
    std::mt19937 random(17);
    std::size_t accepted = 0;
    for (int i = 0; i < 200000; ++i) {
        std::string text = whole;
        for (auto changes = 1 + random() % 3; changes > 0; --changes)
            text[random() % text.size()] = static_cast<char>(random());
        const auto facts = parse_facts(text);
        if (!facts) continue;
        ++accepted;
        ck_assert(facts->hold_s >= 0 && facts->hold_s <= kHoldMax_s && facts->at_s >= 0);
        for (const auto &[name, partition] : facts->partitions)
            ck_assert(!name.empty() && name.size() < 256 && partition.gpus_in_all >= 0 &&
                      partition.gpus_in_all <= kGpusInAllMax && partition.gpus_per_node >= 0);
        ck_assert(parse_facts(format_facts(*facts)) == facts);
    }
    ck_assert(accepted > 0);
}

TEST(jobs_that_do_not_fit_are_left_out) {
    SubmitFacts facts;
    facts.hold_s = 1 << 30;
    facts.partitions["two words"] = {1, 1, false};
    facts.partitions[std::string(300, 'p')] = {1, 1, false};
    for (int i = 0; i < 10000; ++i)
        facts.partitions["p" + std::to_string(i)] = {-1, 1 << 30, false};
    const auto parsed = parse_facts(format_facts(facts));
    ck_assert(parsed && parsed->hold_s == kHoldMax_s && parsed->partitions.size() > 1000);
    ck_assert(!parsed->partitions.contains("two words"));
}

TEST(only_a_trusted_and_fresh_file_counts) {
    const Directory directory;
    SubmitFacts facts = some_facts();
    facts.at_s = boottime_s();
    const std::string path = directory.file(format_facts(facts));
    ck_assert(read_facts(path, geteuid()).has_value());
    chmod(path.c_str(), 0666);
    ck_assert(!read_facts(path, geteuid()));
    chmod(path.c_str(), 0644);
    std::filesystem::create_symlink(path, directory.path + "/link");
    ck_assert(!read_facts(directory.path + "/link", geteuid()));
    ck_assert(!read_facts(directory.path, geteuid()) && !read_facts("/dev/zero", geteuid()));
    ck_assert_int_eq(mkfifo((directory.path + "/fifo").c_str(), 0644), 0);
    ck_assert(!read_facts(directory.path + "/fifo", geteuid()));  // and does not wait for a writer
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(path.c_str(), 12345, 12345), 0);
        ck_assert(!read_facts(path, 0) && read_facts(path, 12345).has_value());
    }
    facts.at_s = boottime_s() + 100;  // from another boot
    ck_assert(!read_facts(directory.file(format_facts(facts)), 12345));
    facts.at_s = boottime_s() - kFactsMaxAge_s - 1;
    ck_assert(!read_facts(directory.file(format_facts(facts)), 12345));
    std::ofstream(path, std::ios::app) << std::string(kFactsBytesMax, '\n');
    ck_assert(!read_facts(path, 12345));
}

TEST(intents_are_found_by_their_job) {
    const std::string text = format_intents({{"1", "malleable/1 min=1"},
                                             {"12", "malleable/1 min=2"},
                                             {"12_3", "malleable/1 min=3"},
                                             {"3", "two\nlines"},
                                             {"4", std::string(5000, 'x')}});
    EXPECT_TEXT(intent_in(text, "12").value_or(""), "malleable/1 min=2");
    EXPECT_TEXT(intent_in(text, "12_3").value_or(""), "malleable/1 min=3");
    EXPECT_TEXT(intent_in(text, "1").value_or(""), "malleable/1 min=1");
    for (const char *other : {"2", "3", "4", "12_", "2_3", "_3", "", "1\n12"})
        ck_assert(!intent_in(text, other));
    for (std::size_t cut = 0; cut < text.size(); ++cut)
        ck_assert(!intent_in(text.substr(0, cut), "12"));
    std::map<std::string, std::string> many;
    for (uint32_t id = 1; id < 100000; ++id) many[std::to_string(id)] = std::string(100, 'x');
    ck_assert(format_intents(many).size() <= kIntentsBytesMax);
}

TEST(an_array_has_many_records_or_one) {
    ringrt::controller::Observation seen;
    const auto add = [&](uint32_t id, const char *task) -> ringrt::controller::JobRecord & {
        seen.jobs.push_back({.id = id, .array_task = task});
        seen.jobs.back().intent =
            ringrt::records::Intent{.gpus_min = static_cast<int>(id), .gpus_max = 64};
        return seen.jobs.back();
    };
    const auto is = [&](const char *name, int min) {
        const auto all = known_intents(seen);
        const auto found = all.find(name);
        const auto intent =
            found == all.end() ? std::nullopt : ringrt::records::parse_intent(found->second);
        return intent && intent->gpus_min == min;
    };
    add(7, "");  // a job, or all tasks of an array
    ck_assert(is("7", 7) && known_intents(seen).size() == 1);
    add(8, "7_0");
    ck_assert(known_intents(seen).at("7") == kManyJobs);
    ck_assert(is("8", 8) && is("7_0", 8));
    seen.jobs[0].array_task = "7_1";  // the last one
    ck_assert(known_intents(seen).at("7") == kManyJobs && is("7_1", 7));
    seen.jobs[1].phase = ringrt::controller::JobPhase::finished;
    ck_assert(is("7", 7) && is("7_1", 7) && !is("7_0", 8));
}

TEST(http_answers_one_request) {
    const auto status = [](const std::string &request, const char *metrics = "m 1\n# EOF\n") {
        const std::string answer = answer_request(request, metrics);
        return answer.empty() ? "" : answer.substr(9, 3);
    };
    EXPECT_TEXT(status("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "200");
    EXPECT_TEXT(status("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", ""), "503");
    EXPECT_TEXT(status("GET /metrics HTTP/1.1\r\nHost: x\r\n"), "");  // incomplete
    EXPECT_TEXT(status("GET /metricsx HTTP/1.1\r\n\r\n"), "404");
    EXPECT_TEXT(status("GET /../metrics HTTP/1.1\r\n\r\n"), "404");
    EXPECT_TEXT(status("POST /metrics HTTP/1.1\r\n\r\n"), "405");
    for (const char *bad : {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", " \r\n\r\n"})
        EXPECT_TEXT(status(bad), "400");
    EXPECT_TEXT(status(std::string(kRequestBytesMax, 'x')), "431");
    std::mt19937 random(3);
    for (int i = 0; i < 20000; ++i) {
        std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
        for (int k = 0; k < 3; ++k)
            request[random() % request.size()] = static_cast<char>(random());
        const std::string answer = answer_request(request, "m");
        ck_assert(answer.empty() || answer.starts_with("HTTP/1.1 "));
    }
}

TEST(only_loopback_is_served) {
    for (const char *bad : {"0.0.0.0:9820", "10.0.0.1:9820", "localhost:1", "127.0.0.1",
                            "127.0.0.1:0", "127.0.0.1:99999", "[::]:1", ""}) {
        MetricsServer server;
        std::string error;
        ck_assert_msg(!server.start(bad, &error) && !error.empty(), "%s", bad);
    }
}

}  // namespace

int main() { return ringrt::test::run_all("facts"); }
