// SPDX-License-Identifier: BSD-3-Clause
// The rendezvous file.
#include "libringrt/bootstrap/rendezvous_file.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt;
using namespace ringrt::fuzz;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const auto found = parse_rendezvous(text_of(data, size));
    if (!found) return 0;
    expect(found->endpoint.port > 0 && found->endpoint.port < 65536, "a port");
    expect(!found->endpoint.addresses.empty() && found->endpoint.addresses.size() <= 32,
           "some addresses");
    for (const std::string &address : found->endpoint.addresses)
        expect(is_one_line(address, 64) && address.find('/') == address.npos, "an address");
    const std::string written = format_rendezvous(*found);
    const auto again = parse_rendezvous(written);
    expect(again && format_rendezvous(*again) == written, "reading and writing changes nothing");
    return 0;
}
