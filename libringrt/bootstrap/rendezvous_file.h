// SPDX-License-Identifier: BSD-3-Clause
// The rendezvous file: where rank 0 tells the others how to reach it, in a folder all share.
//
//   ringrt-rendezvous/1
//   secret=0123456789abcdef0123456789abcdef
//   port=40123
//   address=10.0.0.1
//
// Mode 0600, written aside and renamed into place, so that it is never seen half. It is read as
// hostile input: bounded, and refused when others than its owner may have written it.
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
// Empty where it is not there (yet). Lists the folder first, which makes an NFS client ask its
// server rather than answer "no such file" from its cache.
Status read_rendezvous(const std::string &path, std::optional<Rendezvous> *out);

}  // namespace ringrt
