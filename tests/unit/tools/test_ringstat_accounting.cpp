// SPDX-License-Identifier: BSD-3-Clause
// `ringstat acct`: rows of sacct, and the trainings that they form.
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/check.h"
#include "tools/ringstat/accounting.h"

using namespace ringrt::ringstat;

namespace {

constexpr char kDelimiter[] = "|17|";
constexpr char kBase[] = "malleable/1 min=1 max=8 sig=23 grace=120 state=running gpus=8 run=0";

std::string row(const std::string &job, const std::string &state, const std::string &times,
                const std::string &tres, const std::string &record, const std::string &name,
                const std::string &job_id = "12") {
    std::string text = job;
    for (const std::string &field : {std::string("alice"), std::string("physics"), state})
        text += kDelimiter + field;
    text += kDelimiter;
    for (const char c : times) text += c == ' ' ? std::string(kDelimiter) : std::string(1, c);
    return text + kDelimiter + tres + kDelimiter + record + kDelimiter + job_id + kDelimiter + name;
}

AccountedRun run_of(const std::string &text) {
    const auto run = parse_run(text, kDelimiter);
    ck_assert_msg(run.has_value(), "%s", text.c_str());
    return *run;
}

std::string tres(int gpus) {
    const std::string count = std::to_string(gpus);
    return "billing=" + count + "0,cpu=" + count + ",gres/gpu:a100=" + count +
           ",gres/gpu=" + count + ",node=1";
}

std::string extension_of(int base, int level) {
    return "extension/1 of=" + std::to_string(base) + " run=0 level=" + std::to_string(level);
}

}  // namespace

TEST(a_row_of_sacct) {
    const AccountedRun run =
        run_of(row("12", "CANCELLED by 1000", "100 110 150 40", tres(4), kBase, "a|b"));
    ck_assert_uint_eq(run.job, 12);
    EXPECT_TEXT(run.user, "alice");
    EXPECT_TEXT(run.account, "physics");
    EXPECT_TEXT(run.state, "CANCELLED");
    ck_assert_double_eq(run.submit_s + run.start_s + run.end_s + run.elapsed_s, 400);
    ck_assert_int_eq(run.gpus, 4);
    ck_assert_double_eq(run.billing, 40);
    EXPECT_TEXT(run.name, "a|b");
    EXPECT_TEXT(run.task, "");
    EXPECT_TEXT(run_of(row("12", "R", "1 2 3 4", tres(4), kBase, "a", "11_3")).task, "11_3");
    const AccountedRun waits = run_of(row("12", "PENDING", "100 Unknown Unknown 0", "", "", ""));
    ck_assert_double_eq(waits.start_s + waits.end_s + waits.elapsed_s + waits.billing, 0);
    ck_assert_int_eq(waits.gpus, 0);
}

TEST(an_invalid_row) {
    const std::string good = row("12", "COMPLETED", "1 2 3 1", tres(1), kBase, "job");
    for (const std::string &text :
         {std::string(), std::string("sacct: error"), row("x", "R", "1 2 3 4", "", "", ""),
          row("0", "R", "1 2 3 4", "", "", ""), row("5000000000", "R", "1 2 3 4", "", "", ""),
          row("1.5", "R", "1 2 3 4", "", "", ""), good + kDelimiter + "more",
          good.substr(0, good.rfind(kDelimiter))})
        ck_assert_msg(!parse_run(text, kDelimiter), "%s", text.c_str());
    ck_assert(!parse_run(good, "|18|"));
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i) {
        std::string torn = good.substr(0, random() % (good.size() + 1));
        if (!torn.empty()) torn[random() % torn.size()] = static_cast<char>(random());
        (void)parse_run(torn, kDelimiter);
    }
}

TEST(a_requeued_job_is_one_training) {
    const std::vector<Training> trainings =
        make_trainings({run_of(row("7", "COMPLETED", "200 200 260 60", tres(8), kBase, "grows")),
                        run_of(row("8", "COMPLETED", "0 100 900 800", tres(2), "", "rigid")),
                        run_of(row("7", "REQUEUED", "100 100 190 90", tres(2), kBase, "grows")),
                        run_of(row("7", "RESIZING", "200 199 200 1", tres(2), "", "grows"))},
                       {});
    ck_assert_uint_eq(trainings.size(), 1);
    ck_assert_uint_eq(trainings[0].runs.size(), 3);
    const Bill bill = bill_of(trainings[0]);
    ck_assert_double_eq(bill.time_s, 151);
    ck_assert_double_eq(bill.gpu_s, 60 * 8 + 91 * 2);
    ck_assert_double_eq(bill.billed_s, 10 * bill.gpu_s);
    ck_assert_int_eq(bill.gpus_min, 2);
    ck_assert_int_eq(bill.gpus_max, 8);
    EXPECT_TEXT(accounting_table(trainings),
                "   JOBID NAME      USER     STATE      RUNS   GPUS       TIME    GPU_H   BILLED\n"
                "       7 grows     alice    COMPLETED     2    2-8       2:31     0.18     1.84\n"
                "1 training, 2 runs, 0 extensions: 0.18 GPU hours, 1.84 billed\n");
}

TEST(extensions_count_to_their_base) {
    const std::vector<Training> trainings = make_trainings(
        {run_of(row("7", "RUNNING", "100 100 Unknown 60", tres(1), "", "train")),
         run_of(row("9", "COMPLETED", "110 110 150 40", tres(1), extension_of(7, 1), "train+1")),
         run_of(row("10", "RUNNING", "120 120 Unknown 40", tres(2), "", "train+2"))},
        {{7, kBase}, {10, extension_of(7, 2)}, {11, kBase}});
    ck_assert_uint_eq(trainings.size(), 1);
    ck_assert_uint_eq(trainings[0].extensions.size(), 2);
    const Bill bill = bill_of(trainings[0]);
    ck_assert_double_eq(bill.time_s, 60);
    ck_assert_double_eq(bill.gpu_s, 60 + 40 + 80);
    ck_assert_int_eq(bill.gpus_min, 1);
    ck_assert_int_eq(bill.gpus_max, 4);
    const auto json = nlohmann::json::parse(accounting_json(trainings))["trainings"][0];
    ck_assert_int_eq(json["job"].get<int>(), 7);
    ck_assert_uint_eq(json["runs"].size(), 1);
    ck_assert_int_eq(json["extensions"][1]["gpus"].get<int>(), 2);
}

TEST(an_extension_alone_and_a_pending_job) {
    const std::vector<Training> trainings = make_trainings(
        {run_of(row("9", "COMPLETED", "1 1 3601 3600", tres(1), extension_of(7, 1), "a+b+1")),
         run_of(row("20", "PENDING", "5 Unknown Unknown 0", "", "", "\x1b[31m"))},
        {{20, kBase}});
    const std::string table = accounting_table(trainings);
    const std::string first = table.substr(table.find('\n') + 1);
    ck_assert_msg(
        first.starts_with("       7 a+b       alice    -           0+1      1       0:00     1.00"),
        "%s", first.c_str());
    ck_assert_msg(
        table.find("PENDING") != std::string::npos && table.find('\x1b') == std::string::npos, "%s",
        table.c_str());
    ck_assert(table.find("2 trainings, 0 runs, 1 extension: ") != std::string::npos);
}

int main() { return ringrt::test::run_all("ringstat_accounting"); }
