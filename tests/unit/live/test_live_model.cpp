// SPDX-License-Identifier: BSD-3-Clause
// Resizing in place, explored exhaustively: every order in which ranks get results, with faults at
// every moment. In each state no rank of the base gives up, no step is lost, and ranks that compute
// together are at the same step and in the same call. From each state some event can occur until
// the training is over. RINGRT_LIVE_MODEL=more explores larger ones, for minutes.
#include <cstdlib>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/support/check.h"
#include "tests/support/live_world.h"

using namespace ringrt::test;

namespace {

const char *const kMoves[] = {"take", "lose", "start", "formed", "failed",
                              "ask",  "kill", "cut",   "order"};

struct Explored {
    size_t states = 0, ends = 0;
    int widest = 0, narrowest = 99;  // ranks that trained together
};

// Depth first, with the preceding moves for the failure message.
class Explorer {
  public:
    Explored explore(const LiveWorld &start) {
        struct Node {
            LiveWorld world;
            std::vector<Move> moves;
            size_t next = 0;
        };
        std::vector<Node> path;
        seen_.insert(start.signature());
        path.push_back({start, start.moves()});
        while (!path.empty()) {
            Node &node = path.back();
            if (node.next == node.moves.size()) {
                path.pop_back();
                continue;
            }
            LiveWorld world = node.world;
            world.make(node.moves[node.next++]);
            if (!seen_.insert(world.signature()).second) continue;
            Node child{world, world.moves()};
            path.push_back(std::move(child));
            std::string story;
            const bool stuck = path.back().moves.empty() && !world.is_over();
            if (stuck || !world.violation.empty())
                for (const Node &each : path)
                    if (each.next > 0 && &each != &path.back())
                        story += std::string(kMoves[each.moves[each.next - 1].kind]) + " " +
                                 std::to_string(each.moves[each.next - 1].rank) + ", ";
            ck_assert_msg(world.violation.empty(), "%s\n%s", story.c_str(), world.text().c_str());
            ck_assert_msg(!stuck, "no rank can continue: %s\n%s", story.c_str(),
                          world.text().c_str());
            note(path.back().world);
        }
        result_.states = seen_.size();
        return result_;
    }

  private:
    void note(const LiveWorld &world) {
        result_.ends += world.is_over();
        const int ranks = world.ranks[0].machine.ranks();
        result_.widest = std::max(result_.widest, ranks);
        if (ranks > 0) result_.narrowest = std::min(result_.narrowest, ranks);
    }
    std::unordered_set<std::string> seen_;
    Explored result_;
};

Explored play(const std::vector<int> &jobs, int steps, int faults, int keep = 0) {
    const Explored out = Explorer().explore(LiveWorld(jobs, steps, faults, keep));
    printf("# jobs of");
    for (int ranks : jobs) printf(" %d", ranks);
    printf(" ranks, %d steps, %d faults: %zu states, %zu ends, up to %d ranks\n", steps, faults,
           out.states, out.ends, out.widest);
    ck_assert(out.ends > 0);
    return out;
}

bool more() { return std::getenv("RINGRT_LIVE_MODEL") != nullptr; }

}  // namespace

TEST(an_extension_joins_in_every_order) { ck_assert_int_eq(play({2, 1}, 4, 0).widest, 3); }

TEST(an_extension_dies_or_is_asked_to_leave_at_every_moment) {
    ck_assert_int_eq(play({2, 1}, 4, more() ? 2 : 1).widest, 3);
}

TEST(one_of_two_ranks_dies_at_every_moment) {
    ck_assert_int_eq(play({1, 2}, 4, more() ? 2 : 1).widest, 3);
}

TEST(two_extensions_join_and_one_leaves_at_every_moment) {
    ck_assert_int_eq(play({1, 1, 1}, more() ? 6 : 5, more() ? 2 : 1).widest, 3);
}

// Nodes of the base leave, in every order. Meanwhile a rank on a leaving node dies, the order is
// withdrawn, or a requeue is asked.
TEST(nodes_of_the_base_leave_in_every_order) {
    ck_assert_int_eq(play({3}, 4, 0, 1).narrowest, 1);
    ck_assert_int_eq(play({3}, 4, more() ? 2 : 1, 2).narrowest, 2);
    ck_assert_int_eq(play({3}, 4, more() ? 2 : 1, 1).narrowest, 1);
}

TEST(nodes_of_the_base_leave_while_an_extension_joins) {
    const Explored out = play({2, 1}, more() ? 6 : 5, more() ? 2 : 1, 1);
    ck_assert_int_eq(out.widest, 3);
    ck_assert_int_eq(out.narrowest, 1);
}

TEST(a_loss_that_the_program_met_first_is_a_state) {
    Machine base(2);
    base.told_of_loss();  // alone: ringrt_job_resize() says that the job cannot continue
    ck_assert(base.phase() == Phase::steady);
    ck_assert(base.voted({{.offer = 1, .offer_ranks = 1}, {}}) == Act::form);
    ck_assert(base.voted({{.formed = Formed::done}, {.formed = Formed::done}}) == Act::transfer);
    (void)base.transferred();
    ck_assert(base.confirmed(true) == Act::adopt);
    base.told_of_loss();
    ck_assert(base.phase() == Phase::told);
    ck_assert(base.lost() == Act::settle);
    ck_assert(base.phase() == Phase::settling);
}

TEST(a_rank_that_has_met_its_base_is_apart) {
    Machine rank = Machine::outside();
    rank.told_of_loss();
    ck_assert(rank.phase() == Phase::outside);
    rank.called_off();
    ck_assert(rank.phase() == Phase::apart && rank.is_outside());
    rank.joined({2, 3});
    rank.told_of_loss();
    ck_assert(rank.phase() == Phase::told && !rank.is_outside());
    ck_assert(rank.lost() == Act::rejoin);
    ck_assert(rank.phase() == Phase::apart);
}

TEST(a_rank_whose_node_leaves_is_released_at_a_loss_and_at_the_end) {
    for (const bool lost : {false, true})
        for (const int rank : {0, 1}) {
            Machine machine(2, rank);
            ck_assert(machine.voted({{.offer = 1, .keep = 1, .node = 1}, {.node = 2}}) ==
                      Act::shrink);
            if (lost) machine.told_of_loss();
            ck_assert(machine.phase() == (lost ? Phase::told : Phase::shrinking));
            const Act act = lost ? machine.lost() : machine.finished();
            ck_assert(act == (rank == 0 ? Act::replace : Act::release));
            ck_assert(machine.phase() == (rank == 0 ? Phase::settling : Phase::released));
        }
}

int main() { return run_all("live model", more() ? 3600 : 60); }
