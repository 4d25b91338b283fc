// SPDX-License-Identifier: BSD-3-Clause
// The parts of live_world.h: a rank, a communicator, and what can happen next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libringrt/live/state_machine.h"

namespace ringrt::test {

using live::Act;
using live::Formed;
using live::Machine;
using live::Phase;

// What a rank waits for.
enum class At : uint8_t {
    not_started,
    train,
    ballot,
    transfer,
    confirm,
    settle,
    finish,     // all but the first: a collective
    replacing,  // after a loss: until the smaller level 0 has formed
    released,   // its node leaves the job
    asking,
    joining,
    ended,
    dead
};

struct Rank {
    Machine machine{0};
    At at = At::not_started;
    int job = 0;  // 0: the base
    int step = 0;
    int on = -1;              // the communicator on which it waits
    bool granted = false;     // it completed; this rank may or may not see that
    bool received = false;    // the transfer
    bool asked = false;       // to leave
    live::Vote vote;          // at the ballot
    std::vector<int> levels;  // its communicators; −1: below the level at which it joined
    int next = -1;            // the one that is being formed
    Formed formed = Formed::not_asked;
    std::vector<live::Vote> votes;  // as granted
    bool everywhere = false;        // as granted
    int newest = 0;                 // as granted
    std::vector<int> sizes;         // as granted

    [[nodiscard]] bool alive() const {
        return at != At::dead && at != At::ended && at != At::released;
    }
    [[nodiscard]] bool in_collective() const { return at >= At::train && at <= At::finish; }
};

// Its state, but for its lists.
inline std::vector<int> numbers_of(const Rank &r) {
    return {int(r.at),
            int(r.machine.phase()),
            r.machine.level(),
            int(r.machine.offer()),
            r.step,
            r.on,
            int(r.granted),
            int(r.received),
            int(r.asked),
            r.next,
            int(r.formed),
            int(r.everywhere),
            r.newest,
            int(r.vote.offer),
            int(r.vote.formed),
            int(r.vote.leave),
            r.machine.own_level(),
            r.machine.keep(),
            int(r.vote.keep)};
}

inline std::string text_of(const Rank &r) {
    return " of job " + std::to_string(r.job) + ": at " + std::to_string(int(r.at)) + " step " +
           std::to_string(r.step) + " on " + std::to_string(r.on) + (r.granted ? " granted" : "") +
           " phase " + std::to_string(int(r.machine.phase())) + " level " +
           std::to_string(r.machine.level());
}

struct Comm {
    std::vector<int> members;
    bool broken = false;  // a member is dead, or dropped it
    int parent = -1, step = 0;
};

struct Move {
    enum Kind : uint8_t { take, lose, start, formed, failed, ask, kill, cut, order } kind;
    int rank;
};

}  // namespace ringrt::test
