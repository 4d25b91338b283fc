// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/spank/step_variables.h"

#include <algorithm>

namespace ringrt::slurm {
namespace {

constexpr std::size_t kHostBytesMax = 255;

// Below the ports that Linux assigns, and different after each requeue: connections of the previous
// run may linger.
constexpr uint32_t kPortFirst = 15000, kPorts = 10000;

uint32_t port_of(const TaskPlace &place) {
    const uint64_t key =
        place.job_id + uint64_t{101} * place.restarts + uint64_t{1009} * place.step_id;
    return kPortFirst + static_cast<uint32_t>(key % kPorts);
}

// Ranks on one node connect by loopback, whatever the node's name. If srun uses a loopback address
// with several nodes, they are all on one machine, and their names may not resolve.
std::string address_of(const TaskPlace &place) {
    if (place.nodes <= 1) return "127.0.0.1";
    if (place.launch_address.starts_with("127.")) return place.launch_address;
    const std::string host = first_host(place.node_list);
    return host.empty() ? place.launch_address : host;
}

}  // namespace

std::string first_host(std::string_view list) {
    std::string host;
    // Taken: the first number within the brackets is complete.
    bool in_brackets = false, taken = false;
    for (const char c : list) {
        if (!in_brackets && c == ',') break;
        if (host.size() > kHostBytesMax || static_cast<unsigned char>(c) <= ' ' || c == 0x7f)
            return {};
        if (c == '[' && in_brackets) return {};
        if (c == '[') {
            in_brackets = true;
            taken = false;
        } else if (c == ']' && in_brackets) {
            in_brackets = false;
        } else if (in_brackets && (c == '-' || c == ',')) {
            taken = true;
        } else if (!taken || !in_brackets) {
            host += c;
        }
    }
    return in_brackets ? std::string() : host;
}

bool is_listed(std::string_view list, std::string_view name) {
    for (;;) {
        const std::size_t comma = list.find(',');
        if (list.substr(0, comma) == name) return true;
        if (comma == std::string_view::npos) return false;
        list.remove_prefix(comma + 1);
    }
}

std::vector<Variable> step_variables(const TaskPlace &place) {
    const auto text = [](uint32_t number) { return std::to_string(number); };
    std::vector<Variable> out{{"SLURM_NTASKS_PER_NODE", text(place.local_tasks)}};
    if (const std::string address = address_of(place); !address.empty()) {
        out.emplace_back("MASTER_ADDR", address);
        out.emplace_back("MASTER_PORT", text(port_of(place)));
    }
    if (place.task_per_node) return out;
    out.emplace_back("RANK", text(place.rank));
    out.emplace_back("WORLD_SIZE", text(place.tasks));
    out.emplace_back("LOCAL_RANK", text(place.local_rank));
    out.emplace_back("LOCAL_WORLD_SIZE", text(place.local_tasks));
    out.emplace_back("PL_TRAINER_DEVICES", text(place.local_tasks));
    out.emplace_back("PL_TRAINER_NUM_NODES", text(place.nodes));
    return out;
}

}  // namespace ringrt::slurm
