// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/affinity.h"

#include "build_config.h"

#if HAVE_HWLOC
#include <hwloc.h>

#include <memory>
#endif

namespace ringrt {

#if HAVE_HWLOC
namespace {

struct Destroy {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
    void operator()(hwloc_bitmap_t set) const { hwloc_bitmap_free(set); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;
using Set = std::unique_ptr<hwloc_bitmap_s, Destroy>;

Topology load() {
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) return nullptr;
    Topology owned(topology);
    return hwloc_topology_load(topology) == 0 ? std::move(owned) : nullptr;
}

}  // namespace

bool stay_near(int cpu) {
    Topology topology = load();
    if (topology == nullptr || cpu < 0) return false;
    Set mine(hwloc_bitmap_alloc()), near(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(topology.get(), mine.get(), HWLOC_CPUBIND_THREAD) != 0) return false;
    hwloc_obj_t at = hwloc_get_pu_obj_by_os_index(topology.get(), unsigned(cpu));
    // The smallest part of the machine around `cpu` that includes another core.
    for (; at != nullptr; at = at->parent) {
        hwloc_bitmap_and(near.get(), at->cpuset, mine.get());
        if (hwloc_bitmap_weight(near.get()) >= 2) break;
    }
    return at != nullptr &&
           hwloc_set_cpubind(topology.get(), near.get(), HWLOC_CPUBIND_THREAD) == 0;
}
#else
bool stay_near(int) { return false; }
#endif

}  // namespace ringrt
