// SPDX-License-Identifier: GPL-2.0-or-later
// What a step's task finds in its environment.
#include <algorithm>
#include <map>
#include <string>

#include "slurm_plugin/slurm/spank/step_variables.h"
#include "tests/support/check.h"

using namespace ringrt::slurm;

namespace {

std::map<std::string, std::string> variables_of(const TaskPlace &place) {
    const std::vector<Variable> all = step_variables(place);
    ck_assert(all[0].first == "SLURM_NTASKS_PER_NODE");
    return {all.begin(), all.end()};
}

TaskPlace third_of_four() {
    return {.job_id = 70001,
            .step_id = 0,
            .rank = 2,
            .local_rank = 0,
            .tasks = 4,
            .local_tasks = 2,
            .nodes = 2,
            .node_list = "gpu[01-02]",
            .launch_address = "10.0.0.1"};
}

}  // namespace

TEST(a_rank_finds_its_place) {
    auto found = variables_of(third_of_four());
    EXPECT_TEXT(found["SLURM_NTASKS_PER_NODE"], "2");
    EXPECT_TEXT(found["RANK"], "2");
    EXPECT_TEXT(found["WORLD_SIZE"], "4");
    EXPECT_TEXT(found["LOCAL_RANK"], "0");
    EXPECT_TEXT(found["LOCAL_WORLD_SIZE"], "2");
    EXPECT_TEXT(found["PL_TRAINER_DEVICES"], "2");
    EXPECT_TEXT(found["PL_TRAINER_NUM_NODES"], "2");
    EXPECT_TEXT(found["MASTER_ADDR"], "gpu01");
    EXPECT_TEXT(found["MASTER_PORT"], "15001");
}

TEST(a_launcher_finds_only_its_first_node) {
    TaskPlace place = third_of_four();
    place.task_per_node = true;
    place.local_tasks = 1;
    auto found = variables_of(place);
    ck_assert_int_eq(static_cast<int>(found.size()), 3);
    EXPECT_TEXT(found["SLURM_NTASKS_PER_NODE"], "1");
    EXPECT_TEXT(found["MASTER_ADDR"], "gpu01");
}

TEST(each_run_and_each_step_has_a_port_of_its_own) {
    TaskPlace place = third_of_four();
    auto first = variables_of(place);
    place.restarts = 1;
    ck_assert(variables_of(place)["MASTER_PORT"] != first["MASTER_PORT"]);
    place.restarts = 0;
    place.step_id = 1;
    ck_assert(variables_of(place)["MASTER_PORT"] != first["MASTER_PORT"]);
    place.job_id = place.step_id = place.restarts = UINT32_MAX;
    const int port = std::stoi(variables_of(place)["MASTER_PORT"]);
    ck_assert(port >= 15000 && port < 25000);
}

TEST(an_address_that_every_rank_reaches) {
    TaskPlace place = third_of_four();
    place.nodes = 1;
    EXPECT_TEXT(variables_of(place)["MASTER_ADDR"], "127.0.0.1");
    place.nodes = 2;
    place.launch_address = "127.0.0.1";  // several nodes on one machine
    EXPECT_TEXT(variables_of(place)["MASTER_ADDR"], "127.0.0.1");
    place.launch_address = "10.0.0.1";
    place.node_list = "[broken";
    EXPECT_TEXT(variables_of(place)["MASTER_ADDR"], "10.0.0.1");
    place.launch_address.clear();
    ck_assert(!variables_of(place).contains("MASTER_PORT"));
}

TEST(the_first_host_of_a_list) {
    const std::pair<const char *, const char *> lists[] = {
        {"n1", "n1"},
        {"n1,n2", "n1"},
        {"gpu[01-04,9],login1", "gpu01"},
        {"gpu[7],x", "gpu7"},
        {"rack[2-3]node[05,07]", "rack2node05"},
        {"a[1,2]b-c,d", "a1b-c"},
        {"host-1.site.org", "host-1.site.org"},
        {"", ""},
        {"n[1", ""},
        {"n 1", ""},
        {"n1\n", ""},
    };
    for (const auto &[list, host] : lists) EXPECT_TEXT(first_host(list), host);
    ck_assert(first_host(std::string(1 << 20, 'x')).empty());
    ck_assert(first_host(std::string(1 << 20, '[')).empty());
}

TEST(only_whole_names_are_listed) {
    ck_assert(is_listed("RANK,WORLD_SIZE", "RANK") && is_listed("RANK,WORLD_SIZE", "WORLD_SIZE"));
    ck_assert(!is_listed("LOCAL_RANK", "RANK") && !is_listed("", "RANK"));
    // Every variable that a task may get can be removed again.
    const std::vector<Variable> all = step_variables(third_of_four());
    ck_assert_int_eq(static_cast<int>(all.size()), 1 + static_cast<int>(kStepVariables.size()));
    for (const char *name : kStepVariables)
        ck_assert(std::ranges::any_of(all, [&](const Variable &v) { return v.first == name; }));
}

int main() { return ringrt::test::run_all("step_variables"); }
