// SPDX-License-Identifier: BSD-3-Clause
// What can happen to a job and its cluster: one table for the model (test_model) and for every
// combination of state and event (test_walk).
#pragma once

#include "tests/support/world.h"

namespace ringrt::test {

struct Perturbation {
    const char *name;
    void (*begin)(World &, uint32_t id);
    double lasts_s = 0;  // until `end`
    void (*end)(World &, uint32_t id) = nullptr;
    bool in_model = true;  // test_model plays it at every moment; the others last too long for that
    bool ends_job = false;
};

inline const Perturbation kPerturbations[] = {
    {"busy", [](World &w, uint32_t) { w.cluster.next_answer = RpcStatus::busy; }},
    {"refused", [](World &w, uint32_t) { w.cluster.next_answer = RpcStatus::refused; }},
    {"not_found", [](World &w, uint32_t) { w.cluster.next_answer = RpcStatus::not_found; }},
    {"unreachable", [](World &w, uint32_t) { w.cluster.next_answer = RpcStatus::unreachable; }},
    {"lost", [](World &w, uint32_t) { w.cluster.next_lost = true; }},
    {"restart", [](World &w, uint32_t) { w.restart(); }},
    {"kill1", [](World &w, uint32_t) { w.kill(1); }},
    {"kill3", [](World &w, uint32_t) { w.kill(3); }},
    {"kill5", [](World &w, uint32_t) { w.kill(5.5); }},
    {.name = "cancel",
     .begin = [](World &w, uint32_t id) { w.cluster.cancel_as_user(id); },
     .ends_job = true},
    {"hold", [](World &w, uint32_t id) { w.cluster.hold(id, true); }, 15,
     [](World &w, uint32_t id) { w.cluster.hold(id, false); }},
    {"suspend", [](World &w, uint32_t id) { w.cluster.suspend(id, true); }, 10,
     [](World &w, uint32_t id) { w.cluster.suspend(id, false); }},
    {"requeue", [](World &w, uint32_t id) { w.cluster.requeue(id); }},
    {"node", [](World &w, uint32_t) { w.cluster.lose_node(0); }, 8,
     [](World &w, uint32_t) { w.return_node(0); }},
    {"rigid", [](World &w, uint32_t) { w.cluster.submit_rigid(4, 10); }},
    {"away", [](World &w, uint32_t) { w.go_away(30); }},
    {"lost_for_a_while", [](World &w, uint32_t) { w.cluster.faults.lost_answer = 1; }, 3,
     [](World &w, uint32_t) { w.cluster.faults.lost_answer = 0; }, false},
    {"long_hold", [](World &w, uint32_t id) { w.cluster.hold(id, true); }, 200,
     [](World &w, uint32_t id) { w.cluster.hold(id, false); }, false},
    {"long_suspend", [](World &w, uint32_t id) { w.cluster.suspend(id, true); }, 60,
     [](World &w, uint32_t id) { w.cluster.suspend(id, false); }, false},
    {"start_time", [](World &w, uint32_t id) { w.cluster.set_begin(id, w.cluster.now_s() + 1000); },
     100, nullptr, false},
    {"time_limit", [](World &w, uint32_t id) { w.cluster.set_time_limit(id, 7200); }, 0, nullptr,
     false},
    {"long_node", [](World &w, uint32_t) { w.cluster.lose_node(0); }, 30,
     [](World &w, uint32_t) { w.return_node(0); }, false},
    {"kill_twice", [](World &w, uint32_t) { w.kill(2); }, 1, [](World &w, uint32_t) { w.kill(2); },
     false},
    {"long_away", [](World &w, uint32_t) { w.go_away(180); }, 0, nullptr, false},
    {"big_rigid", [](World &w, uint32_t) { w.cluster.submit_rigid(8, 30, 10, 2); }, 0, nullptr,
     false},
};

}  // namespace ringrt::test
