// SPDX-License-Identifier: BSD-3-Clause
// Ranks with one communicator (ringrt_comm.h) each, created over a directory as their store.
#pragma once

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>

#include "libringrt/ringrt_comm.h"
#include "tests/support/check.h"
#include "tests/support/ranks.h"

namespace ringrt::test {

// One file per key.
struct DirectoryStore {
    explicit DirectoryStore(std::string directory)
        : path(std::move(directory)), callbacks{.context = this, .put = put, .get = get} {}
    DirectoryStore(const DirectoryStore &) = delete;
    DirectoryStore &operator=(const DirectoryStore &) = delete;

    static std::string file_of(void *context, std::string key) {
        for (char &each : key)
            if (each == '/') each = '+';
        return static_cast<DirectoryStore *>(context)->path + "/" + key;
    }
    static int put(void *context, const char *key, const char *value) {
        const std::string file = file_of(context, key);
        std::ofstream(file + ".new") << value;
        return rename((file + ".new").c_str(), file.c_str());
    }
    static int get(void *context, const char *key, char *value, size_t bytes, uint32_t timeout_ms) {
        for (uint32_t ms = 0; ms < timeout_ms; ++ms) {
            if (std::ifstream file(file_of(context, key)); file) {
                file.get(value, static_cast<std::streamsize>(bytes), '\0');
                return 0;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return 7;
    }

    const std::string path;
    ringrt_store_t callbacks;
};

inline constexpr uint32_t kTestTimeout_ms = 20000 * static_cast<uint32_t>(kTimeoutScale);

struct Layout {
    int ranks = 2;
    int nodes = 1;  // ranks are distributed in blocks over this many nodes
};

inline ringrt_comm_config_t config_of(Layout layout, int rank) {
    const std::string node = std::to_string(rank * layout.nodes / layout.ranks);
    setenv("RINGRT_NODE", node.c_str(), 1);
    ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;
    config.rank = rank;
    config.size = layout.ranks;
    config.timeout_ms = config.start_timeout_ms = kTestTimeout_ms;
    return config;
}

// Returns "" or the error.
inline std::string expect(const ringrt_comm_t *comm, ringrt_status_t got, ringrt_status_t expected,
                          const std::string &in_line = "") {
    const std::string line = ringrt_comm_last_error(comm);
    if (got != expected)
        return std::string(ringrt_status_string(got)) + " instead of " +
               ringrt_status_string(expected) + ": " + line;
    if (line.find(in_line) != line.npos) return "";
    return "\"" + line + "\" without \"" + in_line + "\"";
}

#define TRY_TEXT(expression)                                                   \
    do {                                                                       \
        if (std::string wrong_ = (expression); !wrong_.empty()) return wrong_; \
    } while (0)

using CommBody = std::function<std::string(ringrt_comm_t *)>;

// Creates a communicator on every rank and runs `body`, which returns "" or an error. Then all
// ranks leave together, unless the communicator is no longer usable. Rank `except` may end in any
// way.
inline void on_comms(Layout layout, const CommBody &body, int except = -1,
                     uint32_t timeout_ms = kTestTimeout_ms,
                     const std::function<void(int rank)> &before = {}) {
    TemporaryDirectory directory;
    Ranks ranks(layout.ranks, [&](int rank) {
        if (before) before(rank);
        DirectoryStore store(directory.path);
        ringrt_comm_config_t config = config_of(layout, rank);
        config.store = &store.callbacks;
        config.timeout_ms = timeout_ms;
        ringrt_comm_t *comm = nullptr;
        std::string wrong = expect(nullptr, ringrt_comm_create(&comm, &config), RINGRT_OK);
        if (wrong.empty()) wrong = body(comm);
        if (wrong.empty()) wrong = expect(nullptr, ringrt_comm_destroy(comm), RINGRT_OK);
        if (!wrong.empty())
            fprintf(stderr, "rank %d of %d: %s\n", rank, layout.ranks, wrong.c_str());
        return wrong.empty() ? 0 : 1;
    });
    const std::vector<int> ended = ranks.wait(50 * kTimeoutScale, except);
    for (int r = 0; r < layout.ranks; ++r)
        ck_assert_msg(r == except || ended[size_t(r)] == 0,
                      "%d ranks on %d nodes: rank %d ended with %d", layout.ranks, layout.nodes, r,
                      ended[size_t(r)]);
}

}  // namespace ringrt::test
