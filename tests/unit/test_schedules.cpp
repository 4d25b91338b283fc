// SPDX-License-Identifier: BSD-3-Clause
// Programs run over nothing: all ranks of one job in one thread, messages delivered in random
// order. Data are lists of rank numbers, so that the order of every reduce is seen, not inferred.
#include <sched.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "libringrt/base/affinity.h"
#include "libringrt/schedule/cost_model.h"
#include "libringrt/schedule/schedule.h"
#include "libringrt/shm/store_choice.h"
#include "tests/support/check.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

using Value = std::vector<int>;  // whose contributions, in the order they were reduced
using Key = std::tuple<Place, int, int>;

struct Rank {
    Schedule schedule;
    std::map<Key, Value> memory;
    size_t pc = 0;
    std::vector<bool> received;
};

// Read where it lies only when it is delivered, as a slow network does.
struct Flight {
    int from, to;
    uint32_t slot;
    const ScheduleMessage *message;
};

class Simulation {
  public:
    Simulation(int size, const std::function<Schedule(int, int)> &make, unsigned seed,
               bool in_place = false)
        : random_(seed), in_place_(in_place) {
        for (int r = 0; r < size; ++r) {
            ranks_.push_back({make(r, size), {}, 0, {}});
            Rank &rank = ranks_.back();
            rank.received.assign(rank.schedule.receives.size(), false);
            for (int b = 0; b < rank.schedule.blocks; ++b) rank.memory[{Place::Input, 0, b}] = {r};
        }
    }
    // False when it is stuck.
    bool run() {
        for (bool moved = true; moved;) {
            moved = false;
            for (int r = 0; r < int(ranks_.size()); ++r) moved = advance(r) || moved;
            moved = deliver() || moved;  // one message between the steps of all
        }
        bool done = flights_.empty();
        for (const Rank &rank : ranks_) done = done && rank.pc == rank.schedule.steps.size();
        return done;
    }
    const Value &output(int rank, int block) {
        return at(rank, {Place::Output, 0, static_cast<uint16_t>(block), 1}, 0);
    }
    int blocks() const { return ranks_[0].schedule.blocks; }
    size_t blocks_sent() const { return blocks_sent_; }

  private:
    Value &at(int rank, const Ref &ref, int i) {
        Place place = in_place_ && ref.place == Place::Output ? Place::Input : ref.place;
        return ranks_[size_t(rank)].memory[{place, ref.row, ref.first + i}];
    }
    bool advance(int r) {
        Rank &rank = ranks_[size_t(r)];
        bool moved = false;
        for (; rank.pc < rank.schedule.steps.size(); ++rank.pc, moved = true) {
            Step step = rank.schedule.steps[rank.pc];
            if (step.kind == Step::Await && !rank.received[step.index]) break;
            if (step.kind == Step::Flush && in_flight_from(r)) break;
            if (step.kind == Step::Send) send(r, rank.schedule.sends[step.index]);
            if (step.kind == Step::Reduction) reduce(r, rank.schedule.reduces[step.index]);
            if (step.kind == Step::Copy) {
                const CopyStep &copy = rank.schedule.copies[step.index];
                for (int i = 0; i < copy.to.count; ++i) at(r, copy.to, i) = at(r, copy.from, i);
            }
        }
        return moved;
    }
    bool in_flight_from(int r) const {
        return std::any_of(flights_.begin(), flights_.end(),
                           [r](const Flight &each) { return each.from == r; });
    }
    void send(int r, const ScheduleMessage &message) {
        flights_.push_back({r, message.peer, message.slot, &message});
    }
    std::vector<Value> read(const Flight &flight) {
        std::vector<Value> blocks;
        for (const Ref &ref : flight.message->refs) {
            for (int i = 0; i < ref.count; ++i) {
                const Value &value = at(flight.from, ref, i);
                ck_assert_msg(!value.empty(), "rank %d sends what it does not have", flight.from);
                bool raw = ref.place == Place::Input || ref.place == Place::Row;
                ck_assert_msg(!raw || value.size() == 1, "rank %d overwrites what it still sends",
                              flight.from);
                blocks.push_back(value);
            }
        }
        blocks_sent_ += blocks.size();
        return blocks;
    }
    void reduce(int r, const ReduceStep &work) {
        for (int i = 0; i < work.out.count; ++i) {
            Value sum = work.partial ? at(r, *work.partial, i) : Value{};
            for (const Ref &source : work.sources) {
                const Value &part = at(r, source, i);
                ck_assert_msg(part.size() == 1, "rank %d reduces what is not raw", r);
                sum.insert(sum.end(), part.begin(), part.end());
            }
            at(r, work.out, i) = sum;
        }
    }
    bool deliver() {
        if (flights_.empty()) return false;
        std::vector<Value> blocks;
        size_t pick = random_() % flights_.size();
        Flight flight = flights_[pick];
        flights_.erase(flights_.begin() + ptrdiff_t(pick));
        blocks = read(flight);
        Rank &to = ranks_[size_t(flight.to)];
        for (size_t k = 0; k < to.schedule.receives.size(); ++k) {
            const ScheduleMessage &receive = to.schedule.receives[k];
            if (receive.peer != flight.from || receive.slot != flight.slot || to.received[k])
                continue;
            size_t next = 0;
            for (const Ref &ref : receive.refs) {
                for (int i = 0; i < ref.count; ++i) at(flight.to, ref, i) = blocks.at(next++);
            }
            ck_assert_uint_eq(next, blocks.size());
            to.received[k] = true;
            return true;
        }
        ck_abort_msg("nobody expects the message from %d to %d", flight.from, flight.to);
    }

    std::mt19937 random_;
    bool in_place_;
    std::vector<Rank> ranks_;
    std::vector<Flight> flights_;
    size_t blocks_sent_ = 0;
};

Value all_ranks(int size) {
    Value value;
    for (int r = 0; r < size; ++r) value.push_back(r);
    return value;
}

void check_allreduce(const char *name, Schedule (*make)(int, int), int size) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        Simulation simulation(size, make, seed, seed % 2 == 0);
        ck_assert_msg(simulation.run(), "%s of %d ranks is stuck", name, size);
        for (int r = 0; r < size; ++r) {
            for (int b = 0; b < simulation.blocks(); ++b) {
                ck_assert_msg(simulation.output(r, b) == all_ranks(size),
                              "%s of %d ranks: block %d of rank %d", name, size, b, r);
            }
        }
    }
}

TEST(every_allreduce_reduces_in_rank_order) {
    for (int size = 1; size <= 17; ++size) {
        check_allreduce("pairwise", pairwise, size);
        check_allreduce("one_shot", one_shot, size);
        check_allreduce("chain", chain, size);
        check_allreduce("binary_blocks", binary_blocks, size);
    }
    check_allreduce("binary_blocks", binary_blocks, 32);
    check_allreduce("binary_blocks", binary_blocks, 61);
}

TEST(halves_of_an_allreduce) {
    for (int size = 1; size <= 9; ++size) {
        Simulation scatter(size, reduce_scatter_schedule, 1),
            gathered(size, all_gather_schedule, 1);
        ck_assert(scatter.run());
        ck_assert(gathered.run());
        for (int r = 0; r < size; ++r) {
            ck_assert(scatter.output(r, r) == all_ranks(size));
            for (int b = 0; b < size; ++b) ck_assert(gathered.output(r, b) == Value{b});
        }
    }
}

TEST(broadcast_and_barrier) {
    for (int size = 1; size <= 9; ++size) {
        for (int root = 0; root < size; ++root) {
            Simulation tree(
                size, [root](int r, int p) { return binary_tree_broadcast(r, p, root); }, 1);
            ck_assert(tree.run());
            for (int r = 0; r < size; ++r) ck_assert(tree.output(r, 0) == Value{root});
        }
        Simulation barrier(size, dissemination, 1);
        ck_assert(barrier.run());
    }
}

TEST(traffic_is_what_the_header_says) {
    for (int p : {2, 3, 4, 8}) {
        Simulation pairs(p, pairwise, 1);
        ck_assert(pairs.run());
        ck_assert_uint_eq(pairs.blocks_sent(), size_t(2 * (p - 1) * p));  // of n/p each
    }
    for (int p : {2, 4, 8, 16}) {
        Simulation halving(p, binary_blocks, 1);
        ck_assert(halving.run());
        size_t log = size_t(std::bit_width(unsigned(p)) - 1);
        ck_assert_uint_eq(halving.blocks_sent(), size_t(p) * (log * size_t(p) / 2 + size_t(p) - 1));
    }
}

TEST(the_cost_model_chooses_by_size_and_ranks) {
    CostModel model{.alpha_s = 20e-6, .beta_s_per_byte = 1 / 1.2e9, .gamma_s_per_byte = 1 / 5e9};
    ck_assert(choose(model, 2, 64) == Algorithm::OneShot);
    ck_assert(choose(model, 16, 32 << 10) == Algorithm::BinaryBlocks);
    ck_assert(choose(model, 4, 64 << 20) == Algorithm::Pairwise);
    for (int p : {2, 3, 5, 8, 13}) {  // never much worse than any other
        for (size_t n = 4; n < (size_t{1} << 28); n *= 4) {
            double chosen = seconds(model, choose(model, p, n), p, n);
            for (Algorithm each : kAlgorithms) ck_assert(chosen <= seconds(model, each, p, n));
        }
    }
}

// Way 0 is faster at first; then the cores move, and way 1 is.
TEST(stores_are_chosen_by_trial_and_again) {
    constexpr int kTrialsOfBoth = 2 * StoreChoice::kTrials;
    StoreChoice choice(2, false, std::chrono::seconds(0));  // tried again at the first glance
    ck_assert_int_eq(choice.best(1 << 20), 1);
    auto round = [&](double way0_s, double way1_s) {
        std::vector<int> ways;
        for (int i = 0; i < kTrialsOfBoth + StoreChoice::kGlance; ++i) {
            ways.push_back(choice.begin(size_t(1 << 20) + size_t(i)));  // one class of sizes
            choice.end(ways.back() == 0 ? way0_s : way1_s);
            (void)choice.begin(64);  // another is tried by itself
            choice.end(way1_s);
        }
        return ways;
    };
    auto held = [](const std::vector<int> &ways, int way) {
        return std::all_of(ways.begin() + kTrialsOfBoth, ways.end(),
                           [=](int each) { return each == way; });
    };
    auto first = round(1e-3, 2e-3);
    ck_assert_int_eq(std::count(first.begin(), first.begin() + kTrialsOfBoth, 1),
                     StoreChoice::kTrials);
    ck_assert(held(first, 0));
    ck_assert(held(round(1e-3, 0.97e-3), 0));  // by so little noise does it too
    ck_assert(held(round(2e-3, 1e-3), 1));
    ck_assert_int_eq(choice.best(1 << 20), 1);
    ck_assert(held(round(0.97e-3, 1e-3), 1));
}

TEST(a_helper_stays_among_the_cores_it_had) {
    std::thread([] {
        cpu_set_t before, after, both;
        ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
        int cpu = sched_getcpu();
        bool bound = stay_near(cpu);
        ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
        CPU_AND(&both, &before, &after);
        ck_assert(CPU_EQUAL(&both, &after));
        ck_assert(CPU_EQUAL(&before, &after) || (bound && CPU_COUNT(&after) >= 2));
        ck_assert(!stay_near(-1));
        ck_assert(!stay_near(1 << 20));
    }).join();
}

}  // namespace

int main() {
    return run_all(
        "schedules",
        {every_allreduce_reduces_in_rank_order, halves_of_an_allreduce, broadcast_and_barrier,
         traffic_is_what_the_header_says, the_cost_model_chooses_by_size_and_ranks,
         stores_are_chosen_by_trial_and_again, a_helper_stays_among_the_cores_it_had});
}
