// SPDX-License-Identifier: BSD-3-Clause
// The rendezvous file: rank 0's endpoint for the other ranks, in a directory that all share.
//
//   ringrt-rendezvous/1
//   secret=0123456789abcdef0123456789abcdef
//   port=40123
//   address=10.0.0.1
//
// Mode 0600. It is written under a temporary name and renamed, so that it is never seen incomplete.
// It is parsed as hostile input: bounded, and rejected if other users may have written it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "libringrt/base/socket.h"
#include "libringrt/bootstrap/siphash.h"

namespace ringrt {

struct Rendezvous {
    Secret secret{};
    Endpoint endpoint;
};

[[nodiscard]] std::string format_rendezvous(const Rendezvous &rendezvous);
[[nodiscard]] std::optional<Rendezvous> parse_rendezvous(std::string_view text);

Status write_rendezvous(const std::string &path, const Rendezvous &rendezvous);
// Empty if the file does not exist (yet). Lists the directory first, so that an NFS client asks its
// server instead of answering "no such file" from its cache.
Status read_rendezvous(const std::string &path, std::optional<Rendezvous> *out);

}  // namespace ringrt
