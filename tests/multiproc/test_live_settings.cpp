// SPDX-License-Identifier: BSD-3-Clause
// An extension whose environment is not its base's: what the ranks must have in common is refused
// with one line, and the rest works.
#include <fcntl.h>

#include "tests/support/live_test.h"

using namespace ringrt::test;

namespace {

struct Variable {
    const char *name, *value;
};

class Training : public LiveTest<> {
  public:
    // Of the extensions.
    void set(Variable variable) {
        environment = [this, variable](int job) {
            if (job == 0) return;
            setenv(variable.name, variable.value, 1);
            const int log = open(log_of(job).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            ck_assert(dup2(log, STDERR_FILENO) >= 0 && close(log) == 0);
        };
    }
    [[nodiscard]] std::string log(int job) const {
        std::ifstream file(log_of(job));
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    [[nodiscard]] std::string log_of(int job) const {
        return checkpoints() + "/log-" + std::to_string(job);
    }
};

// The base's are: tree order, any algorithm of that order, any route, saves in the background.
constexpr Variable kRefused[] = {{"RINGRT_ORDER", "rank"},
                                 {"RINGRT_ALGORITHM", "halving_doubling"},
                                 {"RINGRT_GPU", "host"},
                                 {"RINGRT_SAVE_INLINE", "1"}};
constexpr Variable kTaken[] = {
    {"RINGRT_TIMEOUT_MS", "15000"},   {"RINGRT_START_TIMEOUT_MS", "15000"},
    {"RINGRT_GROUPING", "fifo"},      {"RINGRT_SIMD", "baseline"},
    {"RINGRT_HUGE_PAGES", "0"},       {"RINGRT_LIVE_COPY_STEPS", "3"},
    {"RINGRT_SAVE_INTERVAL_S", "77"}, {"RINGRT_KEEP_CHECKPOINTS", "7"}};

}  // namespace

TEST(what_all_ranks_must_have_alike_is_refused) {
    Training training;
    training.nodes_apart = true;
    training.grow(0, 2, 2);
    int job = 0;
    for (const Variable &variable : kRefused) {
        training.set(variable);
        training.expect_refused(++job, 2, RINGRT_INVALID_ARGUMENT);
        ck_assert_msg(training.log(job).find(variable.name) != std::string::npos, "%s: %s",
                      variable.name, training.log(job).c_str());
    }
    ck_assert_int_eq(training.size(), 2);
    ck_assert_int_eq(training.recoveries(), 0);
    training.expect_trained(2);
}

TEST(other_settings_are_each_jobs_own) {
    Training training;
    training.nodes_apart = true;
    training.grow(0, 2, 2);
    int job = 0;
    for (const Variable &variable : kTaken) {
        training.set(variable);
        training.grow(++job, 1, 3);
        training.leave(job, 2);
    }
    ck_assert_int_eq(training.recoveries(), 0);
    training.expect_trained(2);
}

int main() { return run_all("live_settings"); }
