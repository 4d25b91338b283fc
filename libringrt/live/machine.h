// SPDX-License-Identifier: BSD-3-Clause
// PURE. Resizing in place, as one rank sees it: what follows from a ballot, a transfer or a loss.
// doc/live.md is the prose. The ranks' communicators are a stack: level 0 is the base job's, each
// extension that joined put one on top that holds all ranks below it and its own.
//
// clang-format off
//
//   a rank of the base, or one that has joined
//
//             offer                   all formed               all received
//   steady ───────────► forming ───────────────► transferring ─► confirming ───────────────► steady, one level up
//     │                    │ one failed                              │ one did not
//     │                    └──────────► steady ◄─────────────────────┘           (called off, nothing changed)
//     │
//     ├── level L is asked to leave: ranks below L ──► settling on level L−1 ──► steady, narrower
//     │                              ranks of L    ──► ended
//     │                              ranks above L ──► outside: they ask to join again
//     │
//     └── a rank is lost (from any state): ranks of the base ──► settling on level 0 ──► steady
//                                          all others        ──► outside
//
//   a rank of an extension before it joined:  outside ──► (joined) steady, at its level
//
// clang-format on
//
// A ballot's votes are the same on all ranks that see them, so all decide alike. Where a rank dies
// in a ballot some may see its votes and others a loss. Those others give up every level above the
// base's, which ends whatever the first ones do there, so that all meet in one settling.
#pragma once

#include <cstdint>
#include <vector>

namespace ringrt::live {

enum class Formed : uint8_t { not_asked, under_way, done, failed };

// What each rank brings to the ballot at a step's end.
struct Vote {
    uint32_t offer = 0;        // rank 0's: number of the join that could be formed; 0: none
    uint32_t offer_ranks = 0;  // of the extension that asks for it
    Formed formed = Formed::not_asked;
    uint8_t leave = 0;  // this rank's job is asked to end
    uint8_t hold = 0;   // a checkpoint is under way: not wider now
    uint8_t zero = 0;
};

enum class Phase : uint8_t { steady, forming, transferring, confirming, settling, outside, ended };

// What a rank does next. All but the last five are over at once, or are followed by go_on.
enum class Act : uint8_t {
    go_on,     // train
    form,      // begin to form the next level beside training, then go on
    call_off,  // drop what was formed, then go on
    adopt,     // the formed level is the present one, then go on
    transfer,  // on the formed level: the state goes to those who join; then transferred()
    confirm,   // on the present level: who has it; then confirmed()
    settle,    // drop all above level(), there agree on the newest step; then settled(), or lost()
    rejoin,    // drop all levels and ask to join again; then joined()
    leave,     // end: asked for
    fail,      // a rank of the base is lost: there is no going on
};

class Machine {
  public:
    explicit Machine(int base_ranks) : sizes_{base_ranks} {}
    // Of an extension, before it joined.
    static Machine outside();

    // One vote per rank of the present level, in its order.
    Act voted(const std::vector<Vote> &votes);
    // The transfer is over here, well or not: whatever came of it, confirm() is next.
    Act transferred();
    Act confirmed(bool everywhere);
    Act settled();
    // A call on the present level, or in a settling, answered that a rank is lost.
    Act lost();
    // The program is done, and all on the present level have come to its end, or one is lost there.
    // The base's ranks meet once more without the others, so that none is alone in a settling.
    Act finished();
    // An extension's rank has the state: `sizes` of all levels, its own the last.
    void joined(std::vector<int> sizes);

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] int level() const { return static_cast<int>(sizes_.size()) - 1; }
    [[nodiscard]] int own_level() const { return own_level_; }
    [[nodiscard]] const std::vector<int> &sizes() const { return sizes_; }
    [[nodiscard]] int ranks() const { return sizes_.empty() ? 0 : sizes_.back(); }
    // Of the join that is being formed.
    [[nodiscard]] uint32_t offer() const { return offer_; }
    [[nodiscard]] int ranks_then() const { return ranks() + static_cast<int>(offer_ranks_); }

    bool operator==(const Machine &) const = default;

  private:
    Machine() = default;
    Act narrow(int leaving_level);
    Act stay(Act how);
    [[nodiscard]] int leaving_level(const std::vector<Vote> &votes) const;

    Phase phase_ = Phase::steady;
    int own_level_ = 0;
    std::vector<int> sizes_;  // ranks of each level up to the present one
    uint32_t offer_ = 0, offer_ranks_ = 0;
};

}  // namespace ringrt::live
