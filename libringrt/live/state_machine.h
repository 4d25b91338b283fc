// SPDX-License-Identifier: BSD-3-Clause
// PURE. Resizing in place, as one rank sees it: how a ballot, a transfer or a loss changes its
// state. doc/live.md explains it. The ranks' communicators form a stack. Level 0 is the base job's.
// Each extension that joins adds a level, which holds all ranks below it and its own.
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
//     ├── level L is asked to leave: ranks below L ──► settling on level L−1 ──► steady, smaller
//     │                              ranks of L    ──► ended
//     │                              ranks above L ──► outside: they ask to join again
//     │
//     └── a rank is lost (from any state): ranks of the base ──► settling on level 0 ──► steady
//                                          all others        ──► apart
//
//   told: the program has met the loss first, on a communicator of its own; a loss follows
//
//   the base alone gives up whole nodes, those of its last ranks: all ranks but the first `keep`
//
//             keep                 the ranks that stay have formed a smaller level 0
//   steady ─────────► shrinking ─────────────────────────► the first `keep` ──► settling there ──► steady
//                       │    │                             the others       ──► released
//                       │    └── a rank is lost: the same, when the smaller one has formed here; else fail
//                       └── one failed, the order ended, or a requeue is due ──► steady (called off)
//
//   a rank of an extension before it joined
//
//   outside ───► (joined) steady, at its level         apart: it has met the base, which answers
//      └── called off ──► apart ──► (joined) steady            again soon or is gone
//
// clang-format on
//
// All ranks that see a ballot's votes see the same votes, and so decide alike. If a rank dies in a
// ballot, some ranks may see the votes and others a loss. The ranks that see a loss drop every
// level above the base's. This aborts the other ranks' calls on those levels, so all settle
// together.
#pragma once

#include <cstdint>
#include <vector>

namespace ringrt::live {

enum class Formed : uint8_t { not_asked, under_way, done, failed };

// A rank's input to the ballot at a step's end.
struct Vote {
    uint32_t offer = 0;        // rank 0's: number of the join that can be formed; 0: none
    uint32_t offer_ranks = 0;  // ranks of the extension that asks for it
    Formed formed = Formed::not_asked;
    uint8_t leave = 0;  // this rank's job is signalled to leave
    uint8_t hold = 0;   // a checkpoint is under way, or begins: no join now
    uint8_t copy = 0;   // rank 0's: a copy of the rows is due (state_copies.h)
    uint32_t keep = 0;  // rank 0's: the base is to keep only this many ranks; 0: no order
    uint32_t node = 0;  // checksum of the name of this rank's node
};

// Whether `ranks` are in blocks by node, so that the first `keep` of them have whole nodes.
[[nodiscard]] bool are_whole_nodes(const std::vector<Vote> &votes, int ranks, uint32_t keep);

enum class Phase : uint8_t {
    steady,
    forming,
    transferring,
    confirming,
    settling,
    outside,
    apart,
    told,
    ended,
    released,
    shrinking,
};

// A rank's next action. After train, form, call_off and adopt the program continues at once.
enum class Act : uint8_t {
    train,     // continue training
    form,      // start to form the next level during training, then continue
    call_off,  // drop the formed level, then continue
    adopt,     // the formed level becomes the present one, then continue
    transfer,  // on the formed level: send the state to the joining ranks; then transferred()
    confirm,   // on the present level: agree on whether all have it; then confirmed()
    settle,    // drop all above level(), agree there on the newest step; then settled() or lost()
    rejoin,    // drop all levels and ask to join again; then joined()
    leave,     // end, as signalled
    fail,      // a rank of the base is lost: training cannot continue
    shrink,    // a rank that stays starts to form the smaller level 0, then all continue
    replace,   // the smaller level 0 becomes the present one when it has formed; settle there
    release,   // this rank's node leaves the job: end
};

class Machine {
  public:
    // A rank of the base.
    explicit Machine(int base_ranks, int rank = 0) : rank_(rank), sizes_{base_ranks} {}
    // The machine of an extension's rank that has not joined.
    static Machine outside();

    // One vote per rank of the present level, in rank order.
    Act voted(const std::vector<Vote> &votes);
    // The transfer ended here, successfully or not: confirm() is next in both cases.
    Act transferred();
    Act confirmed(bool everywhere);
    Act settled();
    // The program says that a rank is lost. Ignored by the base alone: then lost() would fail.
    void told_of_loss();
    // A call on the present level, or in a settling, returned that a rank is lost.
    Act lost();
    // The program is done. All ranks of the present level have reached its end, or one is lost. The
    // base's ranks settle once more without the others, so that no rank is alone in a settling.
    Act finished();
    // A join was called off at an extension's rank, or the base is gone.
    void called_off();
    // An extension's rank has the state. `sizes`: of all levels, its own last.
    void joined(std::vector<int> sizes);

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] bool is_outside() const {
        return phase_ == Phase::outside || phase_ == Phase::apart;
    }
    // Nodes of the base leave, and the ranks that stay are not yet together.
    [[nodiscard]] bool is_shrinking() const { return keep_ > 0; }
    [[nodiscard]] int level() const { return static_cast<int>(sizes_.size()) - 1; }
    [[nodiscard]] int own_level() const { return own_level_; }
    [[nodiscard]] const std::vector<int> &sizes() const { return sizes_; }
    [[nodiscard]] int ranks() const { return sizes_.empty() ? 0 : sizes_.back(); }
    // The join that is being formed.
    [[nodiscard]] uint32_t offer() const { return offer_; }
    // The ranks of the smaller level 0 that is being formed; 0: none.
    [[nodiscard]] int keep() const { return static_cast<int>(keep_); }
    [[nodiscard]] bool stays() const { return rank_ < keep(); }
    [[nodiscard]] int ranks_then() const { return ranks() + static_cast<int>(offer_ranks_); }

    bool operator==(const Machine &) const = default;

  private:
    Machine() = default;
    Act narrow(int leaving_level);
    Act stay(Act how);
    Act while_shrinking(const std::vector<Vote> &votes);
    Act part();
    [[nodiscard]] bool may_shrink(const std::vector<Vote> &votes) const;
    [[nodiscard]] int leaving_level(const std::vector<Vote> &votes) const;

    Phase phase_ = Phase::steady;
    int own_level_ = 0;
    int rank_ = 0;            // of the base's
    std::vector<int> sizes_;  // ranks of each level, up to the present one
    uint32_t offer_ = 0, offer_ranks_ = 0;
    uint32_t keep_ = 0;
};

}  // namespace ringrt::live
