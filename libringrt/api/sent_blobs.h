// SPDX-License-Identifier: BSD-3-Clause
// The blobs that one rank sends to all when ranks have joined, or were behind (job_resize.cpp).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "libringrt/collective/communicator.h"

namespace ringrt {

using Blobs = std::map<std::string, std::vector<std::byte>>;

// What the last resize in place has sent.
struct SentBlobs {
    int root = -1;  // whose they are; -1: none were sent, because every rank has the state
    Blobs blobs;

    // NOT_FOUND if it was not sent.
    Status get(const std::string &name, int rank, std::vector<std::byte> &out) const;
};

// Collective over `over`: all ranks get `own` of rank `root`. Of -1 nothing is sent.
Status send_blobs(Communicator &over, int root, const Blobs &own, SentBlobs &out);

}  // namespace ringrt
