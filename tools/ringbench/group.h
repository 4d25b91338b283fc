// SPDX-License-Identifier: BSD-3-Clause
// The workers of one implementation, and the socket to which all workers connect.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/ringbench/protocol.h"

namespace ringrt::bench {

struct Implementation {
    std::string name;
    // How its ranks are started; empty: forked from this process (ringrt).
    std::vector<std::string> command;
    bool each_rank = false;  // the command starts one rank: "RANK RANKS DIRECTORY" are appended
    std::map<std::string, std::string> environment;
};

// ringrt and the other implementations installed with this build, filtered by `wanted` (empty:
// all).
[[nodiscard]] std::vector<Implementation> find_implementations(
    const std::vector<std::string> &wanted, int ranks);

class Groups {
  public:
    // Starts all ranks of all implementations and waits for them. An implementation that has not
    // connected within `start_s` is left out, with a line on stderr. With `netns`, rank i runs in
    // the network namespace "NETNS-i", over its eth0 (ranks that an mpiexec starts: where that puts
    // them).
    Groups(const std::vector<Implementation> &implementations, int ranks, double start_s,
           std::string netns = "");
    ~Groups();  // ends them
    Groups(const Groups &) = delete;
    Groups &operator=(const Groups &) = delete;

    [[nodiscard]] bool there(size_t implementation) const;
    // The slowest rank's seconds, and the total of wrong elements; empty if the group is lost.
    std::optional<Result> run(size_t implementation, const Command &command);

  private:
    void launch(const Implementation &implementation, size_t index);
    void welcome(double start_s);

    int ranks_, listener_ = -1;
    std::string netns_, directory_;
    std::vector<std::vector<int>> sockets_;  // by implementation and rank; -1: not connected
    std::vector<pid_t> children_;
};

}  // namespace ringrt::bench
