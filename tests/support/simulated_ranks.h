// SPDX-License-Identifier: BSD-3-Clause
// Runs schedules without a network: all ranks of one job in one thread, with messages delivered in
// random order. The data are sums of rank numbers as text, so that the order of every reduction is
// visible. Gates are not simulated: each rank is a node.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "libringrt/schedule/schedule.h"
#include "tests/support/check.h"

namespace ringrt::test {

inline bool is_raw(const std::string &value) { return value.find('+') == value.npos; }

using Value = std::string;  // "((0+1)+2)": which ranks contributed, and in which order
using Key = std::tuple<Place, int, int>;

struct SimulatedRank {
    Schedule schedule;
    std::map<Key, Value> memory;
    size_t pc = 0;
    std::vector<bool> received;
};

// The data is read only at delivery, as on a slow network.
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
            SimulatedRank &rank = ranks_.back();
            rank.received.assign(rank.schedule.receives.size(), false);
            for (int b = 0; b < rank.schedule.blocks; ++b)
                rank.memory[{Place::Input, 0, b}] = std::to_string(r);
        }
    }
    // Returns false if it is stuck.
    bool run() {
        for (bool moved = true; moved;) {
            moved = false;
            for (int r = 0; r < int(ranks_.size()); ++r) moved = advance(r) || moved;
            moved = deliver() || moved;  // one message between the steps of all ranks
        }
        bool done = flights_.empty();
        for (const SimulatedRank &rank : ranks_)
            done = done && rank.pc == rank.schedule.steps.size();
        return done;
    }
    const Value &output(int rank, int block) {
        return at(rank, {Place::Output, 0, static_cast<uint16_t>(block), 1}, 0);
    }
    int blocks() const { return ranks_[0].schedule.blocks; }
    size_t blocks_sent() const {
        size_t sum = 0;
        for (const auto &[link, blocks] : blocks_sent_) sum += blocks;
        return sum;
    }
    size_t blocks_sent(int from, int to) { return blocks_sent_[{from, to}]; }

  private:
    Value &at(int rank, const Ref &ref, int i) {
        Place place = in_place_ && ref.place == Place::Output ? Place::Input : ref.place;
        return ranks_[size_t(rank)].memory[{place, ref.row, ref.first + i}];
    }
    bool advance(int r) {
        SimulatedRank &rank = ranks_[size_t(r)];
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
                ck_assert_msg(!raw || is_raw(value), "rank %d overwrites what it still sends",
                              flight.from);
                blocks.push_back(value);
            }
        }
        blocks_sent_[{flight.from, flight.to}] += blocks.size();
        return blocks;
    }
    void reduce(int r, const ReduceStep &work) {
        for (int i = 0; i < work.out.count; ++i) {
            Value sum = work.partial ? at(r, *work.partial, i) : Value{};
            for (const Ref &source : work.sources) {
                const Value &part = at(r, source, i);
                ck_assert_msg(!part.empty(), "rank %d reduces what it does not have", r);
                ck_assert_msg(is_raw(part) == (source.place != Place::Partial),
                              "rank %d takes a sum for raw data, or raw data for a sum", r);
                sum = sum.empty() ? part : "(" + sum + "+" + part + ")";
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
        SimulatedRank &to = ranks_[size_t(flight.to)];
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
    std::vector<SimulatedRank> ranks_;
    std::vector<Flight> flights_;
    std::map<std::pair<int, int>, size_t> blocks_sent_;  // by sender and receiver
};

}  // namespace ringrt::test
