// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/records/channel.h"

#include <algorithm>
#include <array>

#include "slurm_plugin/records/fields.h"

namespace ringrt::records {
namespace {

struct Spelling {
    std::string_view text;
    ChannelWord word;
};
constexpr std::array kSpellings = {
    Spelling{"hello", ChannelWord::hello},     Spelling{"asked", ChannelWord::asked},
    Spelling{"answer", ChannelWord::answer},   Spelling{"ended", ChannelWord::ended},
    Spelling{"requeue", ChannelWord::requeue}, Spelling{"telemetry", ChannelWord::telemetry},
    Spelling{"keep", ChannelWord::keep},
};

constexpr int64_t kNumberMax = int64_t{1} << 53;
constexpr std::size_t kNameBytesMax = 64;  // an abstract socket's name has at most 107

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

// Takes the first word off `rest`, and the blank after it.
std::string_view take_word(std::string_view &rest) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return word;
}

bool is_plain(std::string_view text) {
    return !text.empty() && text.size() <= kNameBytesMax &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
           });
}

}  // namespace

std::optional<ChannelMessage> parse_channel(std::string_view datagram) {
    if (datagram.size() > kChannelBytesMax ||
        !std::all_of(datagram.begin(), datagram.end(), is_printable))
        return std::nullopt;
    std::string_view rest = datagram;
    const std::string_view word = take_word(rest);
    const auto spelling = std::find_if(kSpellings.begin(), kSpellings.end(),
                                       [&](const Spelling &s) { return s.text == word; });
    ChannelMessage message;
    if (spelling == kSpellings.end() || !read_int(take_word(rest), 0, kNumberMax, message.number))
        return std::nullopt;
    message.word = spelling->word;
    message.text = rest;
    return message;
}

std::string format_channel(const ChannelMessage &message) {
    const auto spelling = std::find_if(kSpellings.begin(), kSpellings.end(),
                                       [&](const Spelling &s) { return s.word == message.word; });
    std::string out(spelling->text);
    out += ' ' + std::to_string(std::clamp<int64_t>(message.number, 0, kNumberMax));
    if (!message.text.empty()) out += ' ' + message.text;
    if (out.size() > kChannelBytesMax) out.resize(kChannelBytesMax);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return !is_printable(c); }, ' ');
    return out;
}

std::optional<ChannelAddress> parse_channel_address(std::string_view text) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view name = text.substr(0, slash);
    const std::string_view key = text.substr(std::min(slash + 1, text.size()));
    if (!is_plain(name) || !is_plain(key)) return std::nullopt;
    return ChannelAddress{std::string(name), std::string(key)};
}

}  // namespace ringrt::records
