// SPDX-License-Identifier: BSD-3-Clause
// The pure parts of the runtime: shares of a batch, the order of samples, settings, step times, the
// meaning of Slurm's answers, claims on a directory.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include "libringrt/checkpoint/fence.h"
#include "libringrt/job/batch.h"
#include "libringrt/job/loss_curve.h"
#include "libringrt/job/reporter.h"
#include "libringrt/job/requeue.h"
#include "libringrt/job/settings.h"
#include "libringrt/job/step_clock.h"
#include "tests/support/check.h"
#include "tests/support/ranks.h"

using namespace ringrt;
using ringrt::test::TemporaryDirectory;

namespace {

using Variables = std::map<std::string, std::string>;

Status resolve_with(const Variables &variables, const ringrt_config_t *config, Settings &out) {
    return resolve(
        config,
        [&](const char *name) -> const char * {
            auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second.c_str();
        },
        out);
}

Settings settings_of(const Variables &variables, const ringrt_config_t *config = nullptr) {
    Settings out;
    Status outcome = resolve_with(variables, config, out);
    ck_assert_msg(outcome.ok(), "%s", outcome.message.c_str());
    return out;
}

std::string refusal(const Variables &variables, const ringrt_config_t *config = nullptr) {
    Settings out;
    Status outcome = resolve_with(variables, config, out);
    ck_assert_int_eq(outcome.code, RINGRT_INVALID_ARGUMENT);
    return outcome.message;
}

}  // namespace

TEST(shares_tile_the_batch) {
    for (uint32_t global : {1u, 7u, 64u, 1000u, UINT32_MAX})
        for (int size : {1, 2, 3, 4, 8, 16, 1000})
            for (auto rule : {RINGRT_FIXED_GLOBAL_BATCH, RINGRT_FIXED_BATCH_PER_GPU}) {
                uint64_t next = 0;
                ringrt_batch_t batch{};
                for (int rank = 0; rank < size; ++rank) {
                    BatchRule given{.global_batch = global, .micro_batch_max = 10, .rule = rule};
                    ck_assert(share_of_batch(given, rank, size, 5, batch).ok());
                    ck_assert_uint_eq(batch.first, next);
                    ck_assert(batch.count <= uint64_t{batch.micro_steps} * 10);
                    next += batch.count;
                }
                ck_assert_uint_eq(next, batch.global);
                const bool fixed = rule == RINGRT_FIXED_GLOBAL_BATCH;
                ck_assert_uint_eq(batch.global, uint64_t{global} * (fixed ? 1 : uint64_t(size)));
                ck_assert(batch.lr_scale == (fixed ? 1.0 : size));
                ck_assert_uint_eq(batch.samples_seen, 5);
            }
    ringrt_batch_t batch;
    ck_assert_int_eq(share_of_batch({}, 0, 1, 0, batch).code, RINGRT_INVALID_ARGUMENT);
}

TEST(samples_are_a_permutation) {
    for (uint64_t samples : {1ul, 2ul, 3ul, 4ul, 5ul, 100ul, 1797ul, 4096ul, 65537ul})
        for (uint64_t seed : {0ul, 1ul, 0xfffffffffffffffful}) {
            std::vector<bool> seen(samples);
            for (uint64_t i = 0; i < samples; ++i) {
                uint64_t sample = sample_at(seed, 3, samples, i);
                ck_assert(sample < samples && !seen[sample]);
                seen[sample] = true;
            }
        }
    ck_assert_uint_eq(sample_at(1, 1, 0, 5), 0);
    for (uint64_t i = 0; i < 1000; ++i)  // the largest size: in range, and in bounded time
        ck_assert(sample_at(i, 0, UINT64_MAX, i * 0x123456789abcdef) < UINT64_MAX);
}

// A job may continue an epoch with another version of the library, so the order never changes.
TEST(samples_are_those_of_all_versions) {
    constexpr uint64_t kFirst[] = {0, 5, 3, 7, 6, 2, 9, 1, 8, 4},
                       kSecond[] = {6, 0, 7, 5, 1, 8, 3, 9, 2, 4};
    for (uint64_t i = 0; i < 10; ++i) {
        ck_assert_uint_eq(sample_at(7, 0, 10, i), kFirst[i]);
        ck_assert_uint_eq(sample_at(7, 1, 10, i), kSecond[i]);
    }
    ck_assert_uint_eq(sample_at(0, 0, 50000, 49999), 21700);
    ck_assert_uint_eq(sample_at(12345, 3, 1281167, 1000000), 267221);
    ck_assert_uint_eq(sample_at(UINT64_MAX, 1ul << 32, 1ul << 40, (1ul << 39) + 1), 303881768005);
}

// Orders differ by epoch and seed, and neighbours are separated: a shuffle has about one fixed
// point or successor.
TEST(samples_are_shuffled) {
    const uint64_t n = 10000;
    for (uint64_t epoch = 0; epoch < 20; ++epoch) {
        uint64_t fixed = 0, successors = 0, same = 0;
        for (uint64_t i = 0; i < n; ++i) {
            fixed += sample_at(7, epoch, n, i) == i;
            successors += sample_at(7, epoch, n, i) + 1 == sample_at(7, epoch, n, i + 1);
            same += sample_at(7, epoch, n, i) == sample_at(7, epoch + 1, n, i);
            same += sample_at(7, epoch, n, i) == sample_at(8, epoch, n, i);
        }
        ck_assert_uint_le(fixed, 10);
        ck_assert_uint_le(successors, 10);
        ck_assert_uint_le(same, 14);
    }
}

// Every first position sees every sample about equally often over epochs (chi-square, 99.99 %).
TEST(samples_are_uniform_over_epochs) {
    const uint64_t n = 50, epochs = 20000;
    for (uint64_t position : {0ul, 1ul, 49ul}) {
        std::vector<double> hits(n);
        for (uint64_t epoch = 0; epoch < epochs; ++epoch)
            hits[sample_at(1, epoch, n, position)] += 1;
        double expected = double(epochs) / double(n), chi2 = 0;
        for (double h : hits) chi2 += (h - expected) * (h - expected) / expected;
        ck_assert_msg(chi2 < 97, "chi-square %g at 49 degrees of freedom", chi2);
    }
}

TEST(settings_come_from_config_then_environment_then_default) {
    Settings s = settings_of({});
    ck_assert_int_eq(s.size, 1);
    ck_assert_uint_eq(s.save_interval_s, 600);
    ck_assert_int_eq(s.signal, SIGURG);
    EXPECT_TEXT(s.scontrol, "scontrol");
    ck_assert(s.checkpoint_dir.ends_with("/ringrt-local") && s.checkpoint_dir.front() == '/');
    s = settings_of(
        {{"RINGRT_SAVE_INTERVAL_S", "5"}, {"RINGRT_SIGNAL", "USR1"}, {"SLURM_JOB_ID", "77"}});
    ck_assert_uint_eq(s.save_interval_s, 5);
    ck_assert_int_eq(s.signal, SIGUSR1);
    ck_assert(s.checkpoint_dir.ends_with("/ringrt-77"));
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.save_interval_s = 9;
    config.rank = 2;
    config.size = 4;
    s = settings_of({{"RINGRT_SAVE_INTERVAL_S", "5"},
                     {"SLURM_STEP_ID", "0"},
                     {"SLURM_PROCID", "1"},
                     {"SLURM_NTASKS", "8"}},
                    &config);
    ck_assert_uint_eq(s.save_interval_s, 9);
    ck_assert_int_eq(s.rank, 2);
    ck_assert_int_eq(s.size, 4);
}

TEST(ranks_come_from_srun_and_not_from_a_batch_script) {
    Settings s = settings_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "1"}});
    ck_assert_int_eq(s.size, 1);
    s = settings_of({{"SLURM_STEP_ID", "0"},
                     {"SLURM_PROCID", "3"},
                     {"SLURM_NTASKS", "8"},
                     {"SLURM_STEP_NUM_TASKS", "4"},
                     {"SLURM_LOCALID", "1"},
                     {"SLURM_RESTART_COUNT", "2"},
                     {"SLURM_JOB_ID", "12"}});
    ck_assert_int_eq(s.rank, 3);
    ck_assert_int_eq(s.size, 4);
    ck_assert_int_eq(s.local_rank, 1);
    ck_assert_uint_eq(s.restart, 2);
    ck_assert_uint_eq(s.job, 12);
}

// For scontrol the array's number means all of its tasks.
TEST(an_arrays_last_task_has_another_name) {
    const auto name = [](const char *job, const char *array, const char *task) {
        return settings_of({{"SLURM_JOB_ID", job},
                            {"SLURM_ARRAY_JOB_ID", array},
                            {"SLURM_ARRAY_TASK_ID", task}})
            .job_name;
    };
    EXPECT_TEXT(settings_of({{"SLURM_JOB_ID", "12"}}).job_name, "12");
    EXPECT_TEXT(settings_of({}).job_name, "");
    EXPECT_TEXT(name("12", "12", "0"), "12_0");
    EXPECT_TEXT(name("13", "12", "4"), "13");  // and of a job submitted by a task
    for (const char *odd : {"", "x", "-1", "4294967296"}) {
        EXPECT_TEXT(name("12", odd, "0"), "12");
        EXPECT_TEXT(name("12", "12", odd), "12");
    }
}

TEST(bad_settings_are_refused_in_one_line) {
    EXPECT_TEXT(refusal({{"RINGRT_SAVE_INTERVAL_S", "5s"}}),
                "RINGRT_SAVE_INTERVAL_S: expected a number from 1 to 31536000, got \"5s\"");
    for (const char *bad : {"", "0", "-1", "99999999999999999999", "1e3", " 5"})
        ck_assert(!refusal({{"RINGRT_TIMEOUT_MS", bad}}).empty());
    for (const char *bad : {"KILL", "TERM", "15", "9", "0", "65", "x\n"})
        ck_assert(!refusal({{"RINGRT_SIGNAL", bad}}).empty());
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.size = 2;
    config.rank = 2;
    EXPECT_TEXT(refusal({}, &config), "rank 2 of 2: expected 0 <= rank < size <= 65536");
    config = RINGRT_CONFIG_INIT;
    config.struct_size = 0;
    EXPECT_TEXT(refusal({}, &config),
                "config.struct_size is not right: start from RINGRT_CONFIG_INIT");
    config.struct_size = 3;
    ck_assert(!refusal({}, &config).empty());
    struct {
        ringrt_config_t config;
        uint64_t newer;
    } longer = {RINGRT_CONFIG_INIT, 0};
    longer.config.struct_size = sizeof longer;
    settings_of({}, &longer.config);  // a newer program that does not use the new fields
    longer.newer = 1;
    EXPECT_TEXT(refusal({}, &longer.config),
                "config has fields that this libringrt does not support");
    std::mt19937_64 random(3);
    for (int i = 0; i < 2000; ++i) {
        Variables noise;
        for (const char *name :
             {"RINGRT_SIGNAL", "RINGRT_TIMEOUT_MS", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID",
              "SLURM_JOB_ID", "RINGRT_CHECKPOINT_DIR", "SLURM_LOCALID"})
            if (random() % 2)
                for (uint64_t n = random() % 30; n > 0; --n)
                    noise[name] += static_cast<char>(random() % 255 + 1);
        Settings out;
        (void)resolve_with(noise, nullptr, out);  // it must not crash, whatever the text
    }
}

TEST(each_job_has_its_own_directory_on_the_node) {
    const Settings none = settings_of({{"SLURM_JOB_ID", "12"}});
    ck_assert(none.checkpoint_local.empty());
    const Settings s = settings_of({{"SLURM_JOB_ID", "12"}, {"RINGRT_CHECKPOINT_LOCAL", "/nvme"}});
    EXPECT_TEXT(s.checkpoint_local, "/nvme/ringrt-12");
    EXPECT_TEXT(refusal({{"RINGRT_CHECKPOINT_LOCAL", "/nvme"},
                         {"RINGRT_CHECKPOINT_DIR", "/nvme/ringrt-local"}}),
                "RINGRT_CHECKPOINT_LOCAL: expected another directory than the shared one");
}

TEST(step_times_are_medians) {
    job::StepClock clock;
    for (int i = 0; i < 2; ++i) clock.add(100);
    ck_assert(clock.step_ms() == 0);
    clock.add(100);
    ck_assert(clock.step_ms() == 100);
    for (int i = 0; i < 12; ++i) clock.add(1e6);  // paused for a while
    for (int i = 0; i < 13; ++i) clock.add(100);
    ck_assert(clock.step_ms() == 100);
    for (int i = 0; i < 32; ++i) clock.add(50);
    ck_assert(clock.step_ms() == 50);
}

// To its goal, to convergence, or neither; uninterrupted or with a checkpoint in between.
TEST(steps_left_follow_from_the_loss) {
    const model::LossModel truth{.b0 = 2e-3, .b1 = 0.4, .b2 = 0.3};
    constexpr double kGoal = 0.33;  // reached after (1 / 0.03 - 0.4) / 0.002 = 16,467 steps
    std::mt19937_64 random(3);
    std::uniform_real_distribution<> noise(0.97, 1.03);
    job::LossCurve to_goal, to_convergence, rises, out_of_reach;
    ck_assert(!to_goal.steps_left(0).has_value());
    for (uint64_t step = 1; step <= 10000; ++step) {
        const double loss = truth.loss(double(step)) * noise(random);
        to_goal.add(double(step), loss, kGoal);
        to_goal.add(double(step), NAN, kGoal);
        to_convergence.add(double(step), loss, 0);
        out_of_reach.add(double(step), loss, 0.1);
        rises.add(double(step), 1 + 0.001 * double(step), 0.5);
        if (step < job::LossCurve::kEnough)
            ck_assert(!to_goal.steps_left(double(step)).has_value());
        ck_assert(!rises.steps_left(double(step)).has_value());
        const auto left = to_goal.steps_left(double(step));
        if (left) ck_assert_double_le(*left, 100 * double(step));
        if (step % 1000 == 500) {
            job::LossCurve back;
            back.restore(to_goal.text());
            EXPECT_TEXT(back.text(), to_goal.text());
            to_goal = back;
        }
        if (step < 5000 || step % 2500 != 0) continue;
        const double done = double(step);
        ck_assert(left.has_value());
        ck_assert_double_eq_tol(double(*left), 16467 - done, 0.3 * (16467 - done));
        const double rest =
            model::steps_to_converge(truth, done, 0.1 * done, 0.01 * truth.loss(done), 1e9);
        ck_assert_double_eq_tol(double(to_convergence.steps_left(double(step)).value_or(0)), rest,
                                0.5 * rest + 0.15 * done);
        ck_assert(!out_of_reach.steps_left(double(step)).has_value());
    }
}

TEST(a_loss_curve_that_cannot_be_read_changes_nothing) {
    job::LossCurve curve;
    for (uint64_t step = 1; step <= 100; ++step) curve.add(double(step), 1 / double(step), 0);
    const std::string good = curve.text();
    for (const std::string &bad :
         {std::string(), std::string("0 0 1:2"), std::string("nan 0 1:2"), std::string("1 0 1:-2"),
          std::string("1 0 1:nan"), std::string("1 0 1:1e999"), std::string("1 0 -1:1"),
          std::string("1 0 1:2x"), std::string("1 0 1,2"), std::string("1 0  1:2"),
          std::string("1 -1 1:2"), std::string("1 1:2"), good + good.substr(3),
          std::string("1e300 0 1:2")}) {
        curve.restore(bad);
        ck_assert_msg(curve.text() == good, "taken: %s", bad.c_str());
    }
    std::mt19937_64 random(4);
    for (int round = 0; round < 2000; ++round) {
        std::string noise = good;
        noise[random() % noise.size()] = static_cast<char>(' ' + random() % 95);
        job::LossCurve other;
        other.restore(noise);
        const auto left = other.steps_left(100);
        if (left) ck_assert_double_le(*left, 10000);
    }
}

TEST(slurms_answers_are_understood) {
    using enum RequeueAnswer;
    auto meaning = [](int code, const char *text) { return judge({code, text}); };
    ck_assert(meaning(0, "") == accepted);
    ck_assert(meaning(1, "Requested operation is presently disabled for job 7\n") == refused);
    ck_assert(meaning(1, "Access/permission denied for job 7\n") == refused);
    ck_assert(meaning(1, "Invalid job id specified for job 7\n") == refused);
    ck_assert(meaning(1, "Job is pending execution for job 7\n") == accepted);
    ck_assert(meaning(1, "Job/step already completing or completed for job 7\n") == accepted);
    ck_assert(meaning(1, "Unable to contact slurm controller (connect failure)\n") == try_again);
    ck_assert(meaning(1, "Socket timed out on send/recv operation\n") == try_again);
    ck_assert(meaning(1, "Job can not be altered now, try again later for job 7\n") == try_again);
    ck_assert(meaning(-1, "no answer in time") == try_again);
    ck_assert(meaning(-1, "scontrol: No such file or directory") == refused);
}

TEST(the_users_comment_is_found) {
    EXPECT_TEXT(job::comment_in("JobId=1 JobName=x\n   AdminComment=malleable/1 x\n   "
                                "Comment=my run = 5 \n   Power=\n"),
                "my run = 5");
    EXPECT_TEXT(job::comment_in("JobId=1 JobName=x\n   Power=\n"), "");
    EXPECT_TEXT(job::comment_in("   Comment=at the start, where none is"), "");
    EXPECT_TEXT(job::comment_in(""), "");
}

// scontrol of a job whose Comment is in a file.
TEST(a_comment_that_the_user_changes_meanwhile_stays) {
    TemporaryDirectory directory;
    const std::string comment = directory.path + "/comment", script = directory.path + "/scontrol";
    std::ofstream(script) << "#!/bin/sh\ncase $1 in\n"
                          << "show) printf 'JobId=7\\n   Comment=%s \\n   Power=\\n' \"$(cat "
                          << comment << ")\" ;;\n"
                          << "update) printf '%s' \"${3#Comment=}\" >" << comment << ".new; mv "
                          << comment << ".new " << comment << " ;;\nesac\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    const auto text = [&] {
        std::ifstream in(comment);
        std::string line;
        std::getline(in, line);
        return line;
    };
    const auto await = [&](const std::string &part) {
        for (int i = 0; i < 500 && text().find(part) == std::string::npos; ++i) usleep(10000);
        ck_assert_msg(text().find(part) != std::string::npos, "no \"%s\" in \"%s\"", part.c_str(),
                      text().c_str());
    };
    std::ofstream(comment) << "mine";
    job::Reporter reporter({.job = "7", .scontrol = script});
    reporter.update({.step = 41});
    await("step=41");
    await("mine ");
    std::ofstream(comment) << "yours";
    reporter.update({.step = 42});
    reporter.report_soon();
    await("step=42");
    await("yours ");
}

TEST(claims_are_ordered) {
    using namespace ringrt::checkpoint;
    const Claim old{1, {7, 1, 11}}, late_old{3, {7, 0, 12}}, fresh{2, {7, 2, 13}},
        other{9, {8, 0, 14}};
    ck_assert(supersedes(fresh, old) && !supersedes(old, fresh));
    ck_assert(supersedes(fresh, late_old) &&
              !supersedes(late_old, fresh));  // claimed later, but older
    ck_assert(supersedes(other, fresh) && !supersedes(fresh, other));
    ck_assert(!supersedes(old, old));
    for (const Claim &claim :
         {old, late_old, fresh, other, Claim{UINT64_MAX - 1, {UINT64_MAX, UINT32_MAX, UINT64_MAX}}})
        ck_assert(parse_claim_name(claim_name(claim)) == claim);
    for (const char *bad :
         {"", "fence-", "fence-1-7-2", "fence-1-7-2-d", "fence-1-7-2-000000000000000d-",
          "fence-01-7-2-000000000000000d", "fence-1-7-99999999999-000000000000000d",
          "fence--1-7-2-000000000000000d", "fence-18446744073709551615-7-2-000000000000000d"})
        ck_assert_msg(!parse_claim_name(bad), "%s", bad);
}

int main() { return ringrt::test::run_all("runtime"); }
