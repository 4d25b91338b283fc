// SPDX-License-Identifier: GPL-2.0-or-later
// GET /metrics over HTTP, on loopback only. A separate thread serves one request at a time, bounded
// in bytes and time: a slow client delays only other clients.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace ringrt::slurm {

inline constexpr std::size_t kRequestBytesMax = 4096;
inline constexpr double kRequestSeconds = 2;

// The complete response to the request so far; empty: the request is not complete.
[[nodiscard]] std::string answer_request(std::string_view request, std::string_view metrics);

class MetricsServer {
  public:
    MetricsServer() = default;
    MetricsServer(const MetricsServer &) = delete;
    MetricsServer &operator=(const MetricsServer &) = delete;
    ~MetricsServer();

    // `address`: 127.0.0.1:9820 or [::1]:9820. On false, *error has the reason.
    [[nodiscard]] bool start(const std::string &address, std::string *error);
    void set_text(std::string metrics);
    [[nodiscard]] bool is_running() const { return listener_ >= 0; }

  private:
    void serve();
    void serve_one(int client);

    int listener_ = -1;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
    std::mutex mutex_;
    std::string metrics_;
};

}  // namespace ringrt::slurm
