// SPDX-License-Identifier: BSD-3-Clause
// Schedule: what one rank does to one segment of a collective, as data. PURE: made by the
// algorithms below from (rank, size), run by executor.h over a transport, and by the unit tests
// over nothing.
//
// A segment is cut into `blocks`. A rank sends and receives sets of blocks and reduces them.
// Because every element must be the left fold in rank order, a partial sum can only grow from rank
// 0 upwards; what cannot be added yet travels raw. That rules out the textbook ring (whose sums
// start at a different rank for every block) and recursive halving (whose sums form a tree):
//
// clang-format off
//   pairwise          blocks go raw to the rank that owns them, which reduces all, then come back.
//                     Each rank sends and receives 2(p-1)/p·n bytes, as few as the ring, in 2(p-1)
//                     messages.
//   halving-doubling  the same routing in log2 p exchanges of half the blocks each, then doubling:
//                     2·log2 p messages, (log2 p/2 + (p-1)/p)·n bytes. p a power of two.
//   binary blocks     p = 2^a + 2^b + ..., largest first: halving within each block of ranks; the
//                     partial sums of one pass to the next, which goes on adding; doubling back.
//   chain             partial sums pass 0 → 1 → ... → p-1, results pass back: p-1 hops each way, 2n
//                     bytes at inner ranks. The ring's neighbours-only traffic in rank order.
//   one-shot          everybody sends everything to everybody: one exchange, (p-1)·n bytes.
// clang-format on
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ringrt {

enum class Place : uint8_t {
    Input,    // this rank's contribution
    Output,   // where the result goes; may be the same memory as Input
    Row,      // raw blocks of another rank: scratch, as if that rank's Input
    Partial,  // a partial result: scratch, in the accumulation type
};

// Blocks [first, first + count) of one place.
struct Ref {
    Place place = Place::Input;
    uint16_t row = 0;  // of Row and Partial
    uint16_t first = 0, count = 1;

    bool operator==(const Ref &) const = default;
};

struct ScheduleMessage {
    int peer = 0;
    uint32_t slot = 0;  // the same at sender and receiver; unique per (sender, receiver)
    std::vector<Ref> refs;
};

struct ReduceStep {
    std::optional<Ref> partial;  // reduced before the first source
    std::vector<Ref> sources;    // in rank order
    Ref out;                     // Output: finished; Partial: not
};

struct Step {
    enum Kind : uint8_t { Send, Await, Flush, Reduction, Copy } kind;
    uint32_t index;  // into sends, receives, reduces or copies
};

struct CopyStep {
    Ref from, to;
};

struct Schedule {
    std::string_view name;
    int blocks = 1;
    int rows = 0, partials = 0;  // scratch: rows and partials used, each of all blocks
    std::vector<ScheduleMessage> sends, receives;
    std::vector<ReduceStep> reduces;
    std::vector<CopyStep> copies;
    std::vector<Step> steps;

    void send(int peer, uint32_t slot, std::vector<Ref> refs);
    uint32_t expect(int peer, uint32_t slot, std::vector<Ref> refs);  // answers what to await
    void await(uint32_t receive);
    // All sends so far have left: what they read may be overwritten. Needed before a reduction to
    // Output where Input, which may be the same memory, is still being sent.
    void flush();
    void reduce(ReduceStep work);
    void copy(Ref from, Ref to);
};

// Allreduces; all work for any size >= 1.
[[nodiscard]] Schedule pairwise(int rank, int size);
[[nodiscard]] Schedule binary_blocks(int rank, int size);
[[nodiscard]] Schedule chain(int rank, int size);
[[nodiscard]] Schedule one_shot(int rank, int size);

// Halves of pairwise: block r is rank r's share.
[[nodiscard]] Schedule reduce_scatter_schedule(int rank,
                                               int size);  // Input of all → Output, own block only
[[nodiscard]] Schedule all_gather_schedule(int rank,
                                           int size);  // Input, own block only → Output of all
// One block from root's Input to all Outputs, along a binary tree.
[[nodiscard]] Schedule binary_tree_broadcast(int rank, int size, int root);
// Nothing travels but the news that all have come, in ceil(log2 p) exchanges (dissemination).
[[nodiscard]] Schedule dissemination(int rank, int size);

}  // namespace ringrt
