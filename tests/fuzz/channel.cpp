// SPDX-License-Identifier: BSD-3-Clause
// Messages of the channel between rank 0 and the SPANK plugin, from either side.
#include "slurm_plugin/records/channel.h"

#include "tests/fuzz/fuzz.h"

using namespace ringrt::records;
using namespace ringrt::fuzz;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text = text_of(data, size);
    if (const auto address = parse_channel_address(text)) {
        expect(address->name.size() <= 64 && address->key.size() <= 64, "an address is bounded");
        expect(address->name + "/" + address->key == text, "an address is all of the text");
    }
    const auto message = parse_channel(text);
    if (!message) return 0;
    expect(message->number >= 0, "numbers are not negative");
    const std::string line = format_channel(*message);
    expect(line.size() <= kChannelBytesMax && is_one_line(line, kChannelBytesMax),
           "a message is one bounded line");
    const auto again = parse_channel(line);
    expect(again && *again == *message, "reading and writing a message changes nothing");
    return 0;
}
