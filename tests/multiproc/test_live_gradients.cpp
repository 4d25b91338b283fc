// SPDX-License-Identifier: BSD-3-Clause
// Gradients that are summed during the backward pass, while extensions join, leave and die. No step
// is lost, and the weights equal those of one rank alone.
#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>

#include "tests/support/live_test.h"

using namespace ringrt::test;

namespace {

// One rank's gradients: the training's vector in uneven parts, and one to which only rank 0
// contributes, so that the others read its sum from the library's memory.
class Gradients {
  public:
    explicit Gradients(const LiveTraining &training) {
        for (size_t from = 0; from < training.floats;) {
            const size_t count = std::min(training.floats - from, 1 + from * from % 1700);
            parts_.push_back({from, count});
            from += count;
        }
    }

    // `more`: another gradient than the other jobs.
    void add(ringrt_t *rt, bool more) {
        int id = -1;
        for (size_t i = 0; i <= parts_.size(); ++i) {
            const size_t count = i < parts_.size() ? parts_[i].count : from_rank0_.size();
            const std::string name = "g" + std::to_string(i);
            if (ringrt_gradient_register(rt, name.c_str(), count, RINGRT_FLOAT32, RINGRT_SUM,
                                         &id) != RINGRT_OK ||
                id != static_cast<int>(i))
                throw std::runtime_error(ringrt_last_error(rt));
        }
        if (more) (void)ringrt_gradient_register(rt, "more", 1, RINGRT_FLOAT32, RINGRT_SUM, &id);
    }

    ringrt_status_t reduce(ringrt_t *rt, std::vector<float> &g, uint64_t step) {
        check_last_sum();
        sum_ = nullptr;
        std::vector<size_t> order(parts_.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random_);
        std::fill(from_rank0_.begin(), from_rank0_.end(), static_cast<float>(step % 1000));
        const int last = static_cast<int>(parts_.size());
        ringrt_status_t status = RINGRT_OK;
        if (ringrt_rank(rt) == 0) status = ringrt_gradient_ready(rt, last, from_rank0_.data());
        for (const size_t i : order) {
            if (status == RINGRT_OK)
                status = ringrt_gradient_ready(rt, static_cast<int>(i), &g[parts_[i].from]);
            if (random_() % 8 == 0) usleep(50);
        }
        for (int id = 0; id <= last && status == RINGRT_OK; ++id)
            status = ringrt_gradient_wait(rt, id, &sum_);
        right_ = static_cast<float>(step % 1000);
        if (status != RINGRT_OK) sum_ = nullptr;
        return status;
    }

  private:
    struct Part {
        size_t from, count;
    };

    // Valid until the next step's first gradient, whatever the ranks have become meanwhile.
    void check_last_sum() const {
        const auto *sum = static_cast<const float *>(sum_);
        if (sum && std::any_of(sum, sum + from_rank0_.size(), [&](float x) { return x != right_; }))
            throw std::runtime_error("rank 0's gradient has another sum");
    }

    std::vector<Part> parts_;
    std::vector<float> from_rank0_ = std::vector<float>(7);
    const void *sum_ = nullptr;
    float right_ = 0;
    std::mt19937 random_{static_cast<unsigned>(getpid())};
};

struct Training : LiveTest<> {
    explicit Training(size_t floats_of_all = 5003) {
        floats = floats_of_all;
        gradients = std::make_unique<Gradients>(*this);
        prepare = [this](int job, ringrt_t *rt) { gradients->add(rt, job == other_gradients); };
        reduce = [this](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
            return gradients->reduce(rt, g, step);
        };
    }
    std::unique_ptr<Gradients> gradients;  // copied to each process by fork()
    int other_gradients = -1;              // the job that registers one more
};

std::string text_of(const std::string &path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

size_t count_of(const std::string &text, const std::string &word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
        ++count;
    return count;
}

struct Variable {
    Variable(const char *of, const std::string &value) : name(of) {
        setenv(name, value.c_str(), 1);
    }
    ~Variable() { unsetenv(name); }
    const char *name;
};

}  // namespace

TEST(at_sizes_1_to_5_with_exact_sums) { Training().join_and_leave_at_sizes_1_to_5(); }

TEST(two_ranks_grow_to_four_and_shrink_in_tree_order) {
    Training training(1009);
    training.exact = false;
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    training.leave(1, 2);
    training.expect_trained(2);
}

TEST(between_nodes_as_well_and_to_the_end) { Training().end_together_between_nodes(); }

TEST(the_first_extension_leaves_and_the_second_joins_again) { Training().leave_below_another(); }

TEST(an_extension_is_killed_at_random_moments) {
    Training training;
    training.grow(0, 2, 2);
    training.lose_extensions(20, 3, 7);
    training.grow(1, 3, 5);
    training.expect_trained(2);
}

TEST(every_grouping_rule_and_another_one_at_the_extension) {
    for (const char *rule : {"fifo", "ddp", "fusion", "mgwfbp", "tictac", "p3", "bytescheduler",
                             "priority", "dear", "prophet", "predictive"}) {
        Training training;
        {
            const Variable grouping("RINGRT_GROUPING", rule);
            training.grow(0, 2, 2);
        }
        const Variable grouping("RINGRT_GROUPING", "fifo");
        training.grow(1, 1, 3);
        kill(training.job(1).pid(0), SIGKILL);
        training.forget(1);
        ck_assert(training.await_size(2));
        training.expect_trained(2);
    }
}

TEST(traces_and_the_profile_cover_every_size) {
    const TemporaryDirectory directory;
    const std::string trace = directory.path + "/t", profile = directory.path + "/profile.csv";
    const Variable traced("RINGRT_TRACE", trace + ".json"), profiled("RINGRT_PROFILE", profile);
    Training training;
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    training.leave(1, 2);
    training.expect_trained(2);
    for (int rank = 0; rank < 2; ++rank) {
        const std::string text = text_of(trace + "." + std::to_string(rank) + ".json");
        ck_assert(text.ends_with("]}\n"));
        const std::string waits =
            "\"name\":\"g0\",\"ph\":\"X\",\"pid\":" + std::to_string(rank) + ",\"tid\":3";
        ck_assert_uint_eq(count_of(text, waits), training.step(0, rank));
        const std::string left = text_of(trace + ".1001." + std::to_string(rank) + ".json");
        ck_assert(left.ends_with("]}\n"));
        ck_assert_uint_gt(count_of(left, "\"name\":\"g0\",\"ph\":\"X\""), 0);
        ck_assert_uint_gt(count_of(left, "job 1001 rank " + std::to_string(rank)), 0);
    }
    ck_assert_uint_gt(count_of(text_of(profile), "g0,"), 0);
    ck_assert(text_of(profile + ".new").empty());
}

TEST(an_extension_with_other_gradients_is_refused) {
    Training training;
    training.other_gradients = 1;
    training.grow(0, 1, 1);
    training.expect_refused(1, 1, RINGRT_INVALID_ARGUMENT);
    training.expect_trained(1);
}

int main() { return run_all("live_gradients"); }
