// SPDX-License-Identifier: BSD-3-Clause
// The gradient exchange over real processes: the same bits with every plan, any order, gaps,
// faults.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "libringrt/base/clock.h"
#include "libringrt/bucketing/rules.h"
#include "libringrt/gradients/gradient_reducer.h"
#include "libringrt/gradients/packed_plan.h"
#include "tests/multiproc/gradient_training.h"
#include "tests/unit/bucketing/bucketing_profiles.h"

using namespace ringrt;
using namespace ringrt::test;

// Each rule's plan on 1 to 4 ranks of 1 to 4 nodes: the same bits as the sum in rank order.
TEST(results_do_not_depend_on_the_plan) {
    for (const test::Layout layout :
         {test::Layout{1}, test::Layout{2}, test::Layout{3}, test::Layout{4}, test::Layout{2, 2},
          test::Layout{3, 2}, test::Layout{4, 2}, test::Layout{4, 4}}) {
        const int size = layout.ranks;
        for (const bucketing::Rule &rule : bucketing::all_rules()) {
            TemporaryDirectory directory;
            Ranks ranks(size, [&](int rank) {
                Job job(layout, rank, directory);
                const bucketing::Network network{.gbps = 0.01, .alpha_us = 10, .ranks = size};
                GradientReducer exchange(job.communicator,
                                         {.plan = rule.plan(profile_of(kCounts), network)});
                Training training(exchange, kCounts);
                for (int step = 0; step < 3; ++step) {
                    training.fill(rank, step);
                    for (size_t g = kCounts.size(); g-- > 0;) training.ready(g);
                    training.wait_and_check(size, step);
                    need(exchange.idle(), "not idle between steps");
                }
                need(job.communicator.finish() == RINGRT_OK, job.communicator.last_error());
                return 0;
            });
            expect_all_zero(ranks.wait());
        }
    }
}

// Hooks run on many threads and in any order, differently on every rank. Plans change meanwhile.
TEST(any_thread_and_any_order) {
    TemporaryDirectory directory;
    Ranks ranks(3, [&](int rank) {
        Job job(3, rank, directory);
        GradientReducer exchange(job.communicator, {});
        Training training(exchange, kCounts);
        std::mt19937 random(static_cast<unsigned>(rank));
        for (int step = 0; step < 40; ++step) {
            training.fill(rank, step);
            ready_in_any_order(training, kCounts.size(), random);
            training.wait_and_check(3, step);
        }
        need(exchange.state().steps == 40, "steps are counted");
        return 0;
    });
    expect_all_zero(ranks.wait());
}

// A rank that has one sum has all, whatever happens to the others then. The plan would complete the
// last gradient first.
TEST(a_step_is_whole_or_not_at_all) {
    TemporaryDirectory directory;
    const std::vector<uint64_t> counts = {5000, 3};
    Ranks ranks(2, [&](int rank) {
        Job job(2, rank, directory);
        GradientReducer exchange(job.communicator,
                                 {.rule = bucketing::find_rule("p3"), .whole_steps = true});
        Training training(exchange, counts);
        training.fill(rank, 0);
        training.ready(1);
        if (rank == 1) usleep(100000);
        training.ready(0);
        if (rank == 1) need(exchange.wait(0, nullptr));
        need(exchange.wait(1, nullptr));
        job.communicator.abort();  // like a loss
        if (rank == 0) need(exchange.wait(0, nullptr));
        need(training.gradients[0][4999] == expected(2, 0, 4999, 0), "a sum differs");
        return 0;
    });
    expect_all_zero(ranks.wait());
}

// A gradient that a rank does not have in a step counts as zero there, and the rank still gets the
// sum.
TEST(a_missing_gradient_counts_as_zero) {
    TemporaryDirectory directory;
    Ranks ranks(3, [&](int rank) {
        Job job(3, rank, directory);
        GradientReducer exchange(job.communicator, {});
        Training training(exchange, {100, 200, 300});
        for (int step = 0; step < 9; ++step) {
            training.fill(rank, step);
            const auto missing = static_cast<size_t>(step % 3);
            for (size_t g = 3; g-- > 0;) {
                if (!(rank == 1 && g == missing)) training.ready(g);
            }
            for (size_t g = 0; g < 3; ++g) {
                const void *sum = nullptr;
                need(exchange.wait(static_cast<int>(g), &sum));
                for (uint64_t i = 0; i < training.gradients[g].size(); ++i) {
                    float want = element(0, static_cast<int>(g), i, step);
                    want += g == missing ? 0.0F : element(1, static_cast<int>(g), i, step);
                    want += element(2, static_cast<int>(g), i, step);
                    need(static_cast<const float *>(sum)[i] == want, "a sum differs");
                }
            }
        }
        return 0;
    });
    expect_all_zero(ranks.wait());
}

TEST(wrong_calls_get_one_line) {
    TemporaryDirectory directory;
    Ranks ranks(1, [&](int rank) {
        Job job(1, rank, directory);
        GradientReducer exchange(job.communicator, {});
        const void *sum = &job;
        Training training(exchange, {10, 10});
        need(exchange.wait(0, &sum));
        need(sum == nullptr, "nothing before the first step");
        need(exchange.wait(2, nullptr).message == "there is no gradient 2: 2 were registered",
             "id");
        need(exchange.ready(0, nullptr).message == "gradient g0: its buffer is NULL", "NULL");
        training.ready(0);
        need(exchange.ready(0, training.gradients[0].data()).code == RINGRT_INVALID_ARGUMENT,
             "twice");
        int id = 0;
        need(exchange.add("late", 1, &id).code == RINGRT_INVALID_ARGUMENT, "late");
        need(exchange.wait(0, nullptr));
        need(exchange.ready(1, training.gradients[1].data()).code == RINGRT_INVALID_ARGUMENT,
             "late");
        need(exchange.wait(1, &sum));
        need(sum != nullptr, "a stand-in");
        return 0;
    });
    expect_all_zero(ranks.wait());
}

// A rank dies within a step: the others' waits fail and name it.
TEST(a_lost_rank_is_an_error_not_a_hang) {
    TemporaryDirectory directory;
    Ranks ranks(3, [&](int rank) {
        Job job(3, rank, directory);
        GradientReducer exchange(job.communicator, {});
        Training training(exchange, {1000, 1000});
        for (int step = 0;; ++step) {
            training.ready(1);
            if (rank == 2 && step == 5) _exit(0);
            training.ready(0);
            for (int g : {0, 1}) {
                const Status result = exchange.wait(g, nullptr);
                if (result.code == RINGRT_OK) continue;
                return result.code == RINGRT_PEER_LOST &&
                               result.message.find('2') != std::string::npos
                           ? 7
                           : 8;
            }
        }
    });
    const std::vector<int> statuses = ranks.wait();
    ck_assert_int_eq(statuses[0], 7);
    ck_assert_int_eq(statuses[1], 7);
}

// Steps that take real time: the profile is learned, and the plan follows a change of the batch.
TEST(the_profile_is_learned_and_the_plan_follows) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        Job job(2, rank, directory);
        GradientReducer exchange(job.communicator,
                                 {.trace_file = directory.path + "/trace.json",
                                  .profile_file = directory.path + "/profile.csv"});
        Training training(exchange, {40000, 40000, 400000});
        const auto steps = [&](int count, int ms) {
            for (int step = 0; step < count; ++step) {
                for (size_t g = 3; g-- > 0;) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
                    training.ready(g);
                }
                for (int g = 0; g < 3; ++g) need(exchange.wait(g, nullptr));
            }
        };
        steps(12, 4);
        const GradientReducer::State before = exchange.state();
        const double first_us = before.profile.gradients[0].ready_us;
        need(first_us > 10e3, "ready after " + std::to_string(first_us));
        need(before.profile.gradients[2].ready_us < first_us, "the last layer is ready first");
        need(before.link.blocks > 5 || before.plan_version > 0, "blocks are measured");
        steps(8, 20);
        need(exchange.state().profile.gradients[0].ready_us > 45e3, "the new batch is seen");
        return 0;
    });
    expect_all_zero(ranks.wait());
    for (const char *name : {"/trace.0.json", "/trace.1.json"}) {
        const std::string text = text_of(directory.path + name);
        ck_assert(text.find("all-gather") != std::string::npos);
        ck_assert(text.ends_with("]}\n"));
    }
    std::string error;
    const auto profile = bucketing::parse_profile(text_of(directory.path + "/profile.csv"), error);
    ck_assert_msg(profile.has_value(), "%s", error.c_str());
    ck_assert_uint_eq(profile->gradients.size(), 3);
    ck_assert_str_eq(profile->gradients[2].name.c_str(), "g2");
    ck_assert_uint_eq(profile->gradients[2].bytes, 1'600'000);
    ck_assert_double_gt(profile->gradients[0].ready_us, profile->gradients[2].ready_us);
}

// A restored job has a plan for its new size from its first step on.
TEST(a_learned_profile_gives_the_first_step_a_plan) {
    Learned learned{.plan_version = 7, .samples_per_rank = 32, .gbps = 0.2, .alpha_us = 3000};
    learned.profile = profile_of(kCounts);
    learned.profile.gradients[4].ready_us = 90e3;
    const std::string text = format_learned(learned);
    for (int size : {1, 3, 4}) {
        TemporaryDirectory directory;
        Ranks ranks(size, [&](int rank) {
            Job job(size, rank, directory);
            GradientReducer exchange(job.communicator,
                                     {.samples_per_rank = [](int n) { return 96.0 / n; }});
            exchange.restore(text);
            Training training(exchange, kCounts);
            training.fill(rank, 0);
            for (size_t g = kCounts.size(); g-- > 0;) training.ready(g);
            training.wait_and_check(size, 0);
            Learner same(bytes_of(kCounts), size);
            need(same.restore(*parse_learned(text), 96.0 / size), "not recalled");
            const GradientReducer::State state = exchange.state();
            if (size > 1) {
                need(state.plan_version == 8, "version " + std::to_string(state.plan_version));
                need(state.plan == bucketing::predictive(same.profile(), same.network()), "plan");
            }
            need(state.profile.gradients[4].ready_us > 0.5 * 90e3 * 3 / size, "profile");
            need(parse_learned(exchange.learned())->plan_version >= 7, "passed on");
            return 0;
        });
        expect_all_zero(ranks.wait());
    }
}

// Two ranks continue with a third, which has learned nothing: rank 0's profile counts, scaled to
// the new share of the samples.
TEST(other_ranks_continue_from_what_rank_0_has_learned) {
    Learned learned{.plan_version = 7, .samples_per_rank = 48, .gbps = 0.2, .alpha_us = 3000};
    learned.profile = profile_of(kCounts);
    learned.profile.gradients[4].ready_us = 300e3;
    TemporaryDirectory first, then;
    Ranks ranks(3, [&](int rank) {
        std::optional<Job> before, now;
        const GradientReducerConfig config{.samples_per_rank = [](int n) { return 96.0 / n; }};
        if (rank < 2) before.emplace(2, rank, first);
        if (rank == 2) now.emplace(3, rank, then);
        GradientReducer exchange((rank < 2 ? before : now)->communicator, config);
        if (rank == 0) exchange.restore(format_learned(learned));
        Training training(exchange, kCounts);
        const auto step = [&](int size, int number) {
            training.fill(rank, number);
            for (size_t g = kCounts.size(); g-- > 0;) training.ready(g);
            training.wait_and_check(size, number);
        };
        for (int number = 0; rank < 2 && number < 2; ++number) step(2, number);
        if (rank < 2) now.emplace(3, rank, then);
        if (rank < 2) exchange.use(now->communicator);
        if (rank < 2) before.reset();
        const std::string kept = exchange.learned();
        for (int number = 3; number < 9; ++number) step(3, number);
        const GradientReducer::State state = exchange.state();
        need(state.steps == 6, "steps with these ranks");
        need(kept.empty() == (rank == 2), "a checkpoint between has what was learned");
        const double us = rank == 0 ? parse_learned(kept)->profile.gradients[4].ready_us : 90e3;
        need(us > 60e3, std::to_string(us));
        std::ofstream(then.path + "/plan" + std::to_string(rank), std::ios::binary)
            << std::string(reinterpret_cast<const char *>(packed(state.plan).data()),
                           packed(state.plan).size() * sizeof(uint64_t));
        need(now->communicator.finish() == RINGRT_OK, now->communicator.last_error());
        return 0;
    });
    expect_all_zero(ranks.wait());
    for (const char *rank : {"1", "2"})
        ck_assert(text_of(then.path + "/plan" + rank) == text_of(then.path + "/plan0"));
}

// If the exchange's own thread throws, all ranks get an error, none waits forever, and no process
// ends.
template <typename Thrown>
void expect_told(const Thrown &thrown, ringrt_status_t expected) {
    Learned learned{.plan_version = 7, .samples_per_rank = 32, .gbps = 0.2, .alpha_us = 3000};
    learned.profile = profile_of(kCounts);
    const std::string text = format_learned(learned);
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        Job job(2, rank, directory);
        const auto own_thread = std::this_thread::get_id();
        const auto samples = [&](int n) {
            if (std::this_thread::get_id() != own_thread) throw thrown;
            return 96.0 / n;
        };
        GradientReducer exchange(job.communicator, {.samples_per_rank = samples});
        exchange.restore(text);
        Training training(exchange, kCounts);
        Status result;
        while (result.code == RINGRT_OK) {
            for (size_t g = kCounts.size(); g-- > 0 && result.code == RINGRT_OK;)
                result = exchange.ready(static_cast<int>(g), training.gradients[g].data());
            for (size_t g = 0; g < kCounts.size() && result.code == RINGRT_OK; ++g)
                result = exchange.wait(static_cast<int>(g), nullptr);
        }
        return result.code == (rank == 0 ? expected : RINGRT_PEER_LOST) ? 0 : 1;
    });
    expect_all_zero(ranks.wait());
}

TEST(no_memory_on_the_exchanges_thread_ends_the_step) {
    expect_told(std::bad_alloc(), RINGRT_NO_MEMORY);
}
TEST(an_exception_on_the_exchanges_thread_ends_the_step) {
    expect_told(std::length_error("too long"), RINGRT_SYSTEM_ERROR);
    expect_told(77, RINGRT_SYSTEM_ERROR);
}

// The plan of a model with many gradients takes tens of milliseconds, which the caller must not
// spend.
TEST(the_first_gradient_is_ready_at_once) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        Job job(2, rank, directory);
        GradientReducer exchange(job.communicator, {});
        Training training(exchange, std::vector<uint64_t>(1000, 16));
        training.fill(rank, 0);
        const double before_us = thread_cpu_us();
        training.ready(999);
        const double took_us = thread_cpu_us() - before_us;
        for (size_t g = 999; g-- > 0;) training.ready(g);
        training.wait_and_check(2, 0);
        need(took_us < 5000, "the first ready() took " + std::to_string(took_us) + " us");
        return 0;
    });
    expect_all_zero(ranks.wait());
}

TEST(profiles_learned_from_others_are_ignored) {
    Learned other{.plan_version = 7, .samples_per_rank = 32, .gbps = 1, .alpha_us = 10};
    other.profile = profile_of({1, 2, 3});
    for (const std::string &text :
         {std::string("garbage"), std::string(), format_learned(other), std::string(100000, '9')}) {
        TemporaryDirectory directory;
        Ranks ranks(2, [&](int rank) {
            Job job(2, rank, directory);
            GradientReducer exchange(job.communicator, {});
            exchange.restore(text);
            Training training(exchange, kCounts);
            for (int step = 0; step < 2; ++step) {
                training.fill(rank, step);
                for (size_t g = kCounts.size(); g-- > 0;) training.ready(g);
                training.wait_and_check(2, step);
            }
            need(exchange.state().plan_version == 0, "a plan out of nothing");
            return 0;
        });
        expect_all_zero(ranks.wait());
    }
}

TEST(a_plan_travels_complete_and_damage_is_found) {
    const bucketing::Plan plan = bucketing::predictive(profile_of(kCounts), {1, 10, 4});
    const std::vector<uint64_t> words = packed(plan);
    ck_assert(unpacked(words) == plan);
    const bucketing::Plan late = bucketing::dear(profile_of(kCounts), {1, 10, 4});
    ck_assert(unpacked(packed(late)) == late);  // with blocks that may not start before a time
    for (size_t length = 0; length < words.size(); ++length) {
        ck_assert(!unpacked(std::span(words).first(length)));
    }
    std::mt19937 random(12);
    for (int round = 0; round < 5000; ++round) {  // no crash, whatever the words are
        std::vector<uint64_t> other = words;
        other[random() % other.size()] = round % 2 ? random() % 9 : ~uint64_t{0} >> random() % 64;
        const auto read = unpacked(other);
        if (read) (void)fault_of(*read, profile_of(kCounts));
    }
}

int main() { return ringrt::test::run_all("exchange"); }
