// SPDX-License-Identifier: BSD-3-Clause
// Schedule: what one rank does to one segment of a collective, as data. PURE: the algorithms below
// make it from (rank, size), executor.h runs it over a transport, and the unit tests interpret it
// without one.
//
// A segment is divided into `blocks`. A rank sends, receives and reduces sets of blocks. Each
// algorithm adds in some of the orders of reduce/order.h; data that cannot be added yet is sent
// raw.
//
// clang-format off
//   any order
//   direct            each rank sends its blocks raw to their owners, which reduce them; the results
//                     return. Each rank sends and receives 2(p-1)/p·n bytes, as few as the ring, in
//                     2(p-1) messages.
//   one-shot          each rank sends all its data to all ranks: one exchange, (p-1)·n bytes.
//   rank order: a partial sum can only grow from rank 0 upwards
//   raw halving       the routing of direct in log2 p exchanges of half the blocks each, then
//                     doubling: 2·log2 p messages, (log2 p/2 + (p-1)/p)·n bytes. If p is not a power
//                     of two, p = 2^a + 2^b + ..., largest first, gives groups of ranks: each group
//                     halves, adds its data to the previous group's partial sums and sends the sums
//                     to the next group; the results return.
//   chain             partial sums pass 0 → 1 → ... → p-1, results pass back: p-1 hops each way, 2n
//                     bytes at inner ranks. The ring's neighbours-only traffic in rank order.
//   ring order
//   ring              block b travels from rank b+1 round to b, and each rank adds its own; the results
//                     travel round once more: 2(p-1) messages to one neighbour, 2(p-1)/p·n bytes.
//   tree order
//   halving           like raw halving, but received data is added at once: 2(p-1)/p·n bytes for
//                     p = 2^k. The nearest exchange is first, so that the large ones stay in a node.
//   tree              partial sums go up a binomial tree, results down: 2·ceil(log2 p) messages of n.
//
// With more than kDirectRanks ranks a rank exchanges messages only with few others, so that it needs
// few connections: those at distances 1, 2, 4 ... (all-gather, broadcast, barrier) and its
// neighbours (chain, ring).
// clang-format on
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "libringrt/schedule/shared_places.h"

namespace ringrt {

enum class Place : uint8_t {
    Input,    // this rank's contribution
    Output,   // the result; may be the same memory as Input
    Row,      // raw blocks of another rank: scratch, laid out like that rank's Input
    Partial,  // a partial result: scratch, in the accumulation type
    Stage,    // what a rank of this node shows to the others (row: its index there)
    Results,  // results that this node's ranks share
};

// Blocks [first, first + count) of one place.
struct Ref {
    Place place = Place::Input;
    uint16_t row = 0;  // of Row, Partial and Stage
    uint16_t first = 0, count = 1;

    bool operator==(const Ref &) const = default;
};

struct ScheduleMessage {
    int peer = 0;
    uint32_t slot = 0;  // equal at sender and receiver; unique per (sender, receiver)
    std::vector<Ref> refs;
};

struct ReduceStep {
    std::optional<Ref> partial;  // reduced before the first source
    std::vector<Ref> sources;    // in rank order; all are Partial, or none
    Ref out;                     // Partial: not finished
    // The sources are those of all ranks, or of a branch in tree order. They are added in the
    // requested order instead of in list order.
    bool of_all = false;
};

struct Step {
    enum Kind : uint8_t { Send, Await, Flush, Reduction, Copy, Arrive, Pass } kind;
    uint32_t index;  // into sends, receives, reduces or copies; or the Gate
};

struct CopyStep {
    Ref from, to;
};

struct Schedule {
    std::string_view name;
    int blocks = 1;
    int rows = 0, partials = 0;  // scratch: rows and partials used; each holds all blocks
    bool aggregated = false;     // a message holds the blocks of many ranks
    std::vector<ScheduleMessage> sends, receives;
    std::vector<ReduceStep> reduces;
    std::vector<CopyStep> copies;
    std::vector<Step> steps;

    void send(int peer, uint32_t slot, std::vector<Ref> refs);
    uint32_t expect(int peer, uint32_t slot, std::vector<Ref> refs);  // returns the index to await
    void await(uint32_t receive);
    // Waits until all sends so far have left, so that their data may be overwritten. Required
    // before a reduction to Output if Input, which may be the same memory, is still being sent.
    void flush();
    void reduce(ReduceStep work);
    void copy(Ref from, Ref to);
    // Arrives at a gate of this node; passes it once all its ranks have arrived.
    void arrive(Gate gate);
    void pass(Gate gate);
};

// The most ranks of which each may send to all others. Beyond, connections and the messages of one
// exchange would grow with the square of the ranks.
inline constexpr int kDirectRanks = 32;

// Allreduces; all work for any size >= 1.
[[nodiscard]] Schedule direct(int rank, int size);
[[nodiscard]] Schedule one_shot(int rank, int size);
[[nodiscard]] Schedule raw_halving(int rank, int size);
[[nodiscard]] Schedule chain(int rank, int size);
[[nodiscard]] Schedule ring(int rank, int size);
[[nodiscard]] Schedule halving(int rank, int size);
[[nodiscard]] Schedule tree(int rank, int size);

// The halves of direct: block r is rank r's share.
[[nodiscard]] Schedule reduce_scatter_schedule(int rank,
                                               int size);  // Input of all → Output, own block only
[[nodiscard]] Schedule all_gather_schedule(int rank,
                                           int size);  // Input, own block only → Output of all
// Blocks that are moved without reduction. All-to-all: Input's block b goes to rank b; Output's
// block b comes from it.
[[nodiscard]] Schedule all_to_all_schedule(int rank, int size);
[[nodiscard]] Schedule gather_schedule(int rank, int size,
                                       int root);  // Input, own block only → root's Output
[[nodiscard]] Schedule scatter_schedule(int rank, int size,
                                        int root);  // root's Input → Output, own block only
// Sends one block from root's Input to all Outputs, along a binary tree.
[[nodiscard]] Schedule binary_tree_broadcast(int rank, int size, int root);
// The same for any number of ranks, with 2·ceil(log2 p) peers of a rank. All-gather: in exchange k
// a rank passes on the 2^k blocks that it has (Bruck et al. 1997). Broadcast: along a binomial
// tree.
[[nodiscard]] Schedule all_gather_doubling(int rank, int size);
[[nodiscard]] Schedule binomial_broadcast(int rank, int size, int root);
// In rank order: partial sums of all blocks pass from rank 0 upwards, and the last rank's results
// return to their owners along a binomial tree.
[[nodiscard]] Schedule reduce_scatter_chain(int rank, int size);
// Sends no data: each rank learns that all have arrived, in ceil(log2 p) exchanges (dissemination).
[[nodiscard]] Schedule dissemination(int rank, int size);

}  // namespace ringrt
