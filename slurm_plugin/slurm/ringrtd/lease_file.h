// SPDX-License-Identifier: GPL-2.0-or-later
// The leases of lease.h as files in a directory that all contenders share (StateSaveLocation, also
// on NFS): ringrtd.lease.N. link() creates one and fails if the name exists. rename() renews it, so
// no reader sees a partial file. The last few are kept: a contender that was suspended during some
// take-overs finds its number taken.
#pragma once

#include <string>
#include <string_view>

#include "slurm_plugin/slurm/ringrtd/lease.h"

namespace ringrt::slurm {

inline constexpr std::size_t kLeaseBytesMax = 1024;
inline constexpr uint64_t kLeasesKept = 8;

// host, process, boot and PID namespace: `HOST:PID:START:BOOT:SPACE`
[[nodiscard]] std::string this_process();
// True only if this process could see the holder alive: same boot, same PID namespace.
[[nodiscard]] bool is_dead(const std::string &holder);
// `ringrtd on HOST (pid PID)`
[[nodiscard]] std::string name_of(const std::string &holder);

[[nodiscard]] std::string format_lease(const LeaseRecord &record, std::string_view until);
[[nodiscard]] std::optional<LeaseRecord> parse_lease(std::string_view text);

class LeaseFile {
  public:
    explicit LeaseFile(std::string directory) : directory_(std::move(directory)) {}

    [[nodiscard]] LeaseSeen look() const;
    [[nodiscard]] LeaseWrite create(uint64_t number, const LeaseRecord &record);
    [[nodiscard]] LeaseWrite renew(uint64_t number, const LeaseRecord &record);
    // Why the last call failed.
    [[nodiscard]] const std::string &error() const { return error_; }

  private:
    [[nodiscard]] std::string path_of(uint64_t number) const;
    [[nodiscard]] bool write_fresh(const LeaseRecord &record, std::string &path);
    void remove_old(uint64_t number) const;

    std::string directory_;
    mutable std::string error_;
};

}  // namespace ringrt::slurm
