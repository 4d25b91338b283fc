// SPDX-License-Identifier: BSD-3-Clause
// A binomial tree, in tree order (Order::Tree). Rank r adds the sums of r+1, r+2, r+4 ... up to its
// own lowest bit, and sends the result to r without that bit. The final results return along the
// same path.
#include <bit>

#include "libringrt/schedule/schedule.h"

namespace ringrt {
namespace {

Ref whole(Place place, int row = 0) { return {place, uint16_t(row), 0, 1}; }

}  // namespace

Schedule tree(int rank, int size) {
    const int levels = std::bit_width(unsigned(size - 1));
    Schedule schedule{.name = "tree", .blocks = 1, .rows = levels + 1, .partials = levels + 1};
    const int lowest = rank == 0 ? 1 << levels : rank & -rank, parent = rank - lowest;
    struct Child {
        int rank;
        uint32_t receive;
        Ref sum;
    };
    std::vector<Child> children;
    for (int distance = 1, level = 1; distance < lowest; distance *= 2, ++level) {
        const int child = rank + distance;
        if (child >= size) break;
        // A child without children sends its raw data.
        const bool raw = distance == 1 || child + 1 >= size;
        const Ref sum = whole(raw ? Place::Row : Place::Partial, level);
        children.push_back({child, schedule.expect(child, 0, {sum}), sum});
    }
    const uint32_t result = rank == 0 ? 0 : schedule.expect(parent, 1, {whole(Place::Output)});
    for (const Child &child : children) {
        schedule.await(child.receive);
        const bool first = &child == &children.front(), last = &child == &children.back();
        ReduceStep step{.partial = {}, .sources = {child.sum}, .out = whole(Place::Partial)};
        if (first) step.sources = {whole(Place::Input), child.sum};
        if (!first && child.sum.place == Place::Row) step.partial = whole(Place::Partial);
        if (!first && child.sum.place == Place::Partial)
            step.sources = {whole(Place::Partial), child.sum};
        if (rank == 0 && last) step.out = whole(Place::Output);
        schedule.reduce(std::move(step));
    }
    if (rank > 0) {
        schedule.send(parent, 0, {whole(children.empty() ? Place::Input : Place::Partial)});
        schedule.await(result);
    }
    for (size_t i = children.size(); i-- > 0;)
        schedule.send(children[i].rank, 1, {whole(Place::Output)});
    if (size == 1) schedule.copy(whole(Place::Input), whole(Place::Output));
    return schedule;
}

}  // namespace ringrt
