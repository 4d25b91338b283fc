// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/facts_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "slurm_plugin/records/fields.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::slurm {
namespace {

constexpr std::string_view kFactsMarker = "ringrt-facts/2", kIntentsMarker = "ringrt-intents/1\n";
constexpr std::string_view kEnd = "end\n";  // otherwise the file is truncated
constexpr std::size_t kNameBytesMax = 255;

// Removes the first line from `rest` and returns it without its newline.
std::optional<std::string_view> take_line(std::string_view &rest) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
}

std::string_view take_word(std::string_view &rest) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    return word;
}

bool is_name(std::string_view name) {
    return !name.empty() && name.size() <= kNameBytesMax &&
           std::ranges::all_of(name, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

constexpr int kIsDefault = 1, kWholeNodes = 2;  // FLAGS

// partition NAME GPUS_IN_ALL GPUS_PER_NODE NODES FLAGS
bool read_partition(std::string_view line, SubmitFacts &facts) {
    SubmitFacts::Partition partition;
    int32_t flags = 0;
    if (take_word(line) != "partition") return false;
    const std::string_view name = take_word(line);
    if (!is_name(name) ||
        !records::read_into(take_word(line), 0, kGpusInAllMax, partition.gpus_in_all) ||
        !records::read_into(take_word(line), 0, kGpusInAllMax, partition.gpus_per_node) ||
        !records::read_into(take_word(line), 0, kGpusInAllMax, partition.nodes) ||
        !records::read_into(take_word(line), 0, kIsDefault | kWholeNodes, flags) || !line.empty())
        return false;
    partition.is_default = (flags & kIsDefault) != 0;
    partition.whole_nodes = (flags & kWholeNodes) != 0;
    return facts.partitions.emplace(name, partition).second;
}

}  // namespace

double boottime_s() {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string format_facts(const SubmitFacts &facts) {
    const auto at_ms = static_cast<int64_t>(facts.at_s * 1000);
    std::string out = std::string(kFactsMarker) + " " + std::to_string(at_ms) + " " +
                      std::to_string(std::clamp(facts.hold_s, 0, kHoldMax_s)) + "\n";
    for (const auto &[name, partition] : facts.partitions) {
        const auto bounded = [](int32_t count) {
            return " " + std::to_string(std::clamp(count, 0, kGpusInAllMax));
        };
        const int flags =
            (partition.is_default ? kIsDefault : 0) | (partition.whole_nodes ? kWholeNodes : 0);
        const std::string line = "partition " + name + bounded(partition.gpus_in_all) +
                                 bounded(partition.gpus_per_node) + bounded(partition.nodes) + " " +
                                 std::to_string(flags) + "\n";
        if (is_name(name) && out.size() + line.size() + kEnd.size() <= kFactsBytesMax) out += line;
    }
    return out + std::string(kEnd);
}

std::optional<SubmitFacts> parse_facts(std::string_view text) {
    if (text.size() > kFactsBytesMax || !text.ends_with(kEnd)) return std::nullopt;
    text.remove_suffix(kEnd.size());
    auto line = take_line(text);
    if (!line || take_word(*line) != kFactsMarker) return std::nullopt;
    SubmitFacts facts;
    int64_t at_ms = 0;
    if (!records::read_into(take_word(*line), int64_t{0}, int64_t{1} << 50, at_ms) ||
        !records::read_into(take_word(*line), 0, kHoldMax_s, facts.hold_s) || !line->empty())
        return std::nullopt;
    facts.at_s = static_cast<double>(at_ms) / 1000;
    while (!text.empty()) {
        line = take_line(text);
        if (!line || !read_partition(*line, facts)) return std::nullopt;
    }
    return facts;
}

RingrtPartitionView view_in(const SubmitFacts &facts, std::string_view partition) {
    RingrtPartitionView view{};
    view.hold_s = facts.hold_s;
    const auto found =
        partition.empty()
            ? std::ranges::find_if(facts.partitions,
                                   [](const auto &entry) { return entry.second.is_default; })
            : facts.partitions.find(partition);
    if (found == facts.partitions.end()) return view;
    view.gpus_in_all = found->second.gpus_in_all;
    view.gpus_per_node = found->second.gpus_per_node;
    view.nodes = found->second.nodes;
    view.whole_nodes = found->second.whole_nodes ? 1 : 0;
    return view;
}

std::string format_intents(const std::map<std::string, std::string> &records) {
    std::string out(kIntentsMarker);
    for (const auto &[job, record] : records) {
        const std::string line = job + " " + record + "\n";
        if (record.size() <= records::kRecordBytesMax && record.find('\n') == std::string::npos &&
            out.size() + line.size() + kEnd.size() <= kIntentsBytesMax)
            out += line;
    }
    return out + std::string(kEnd);
}

std::optional<std::string> intent_in(std::string_view text, std::string_view job) {
    if (text.size() > kIntentsBytesMax || !text.ends_with(kEnd)) return std::nullopt;
    if (!text.starts_with(kIntentsMarker)) return std::nullopt;
    const std::string key = "\n" + std::string(job) + " ";
    const std::size_t found = text.find(key);
    if (found == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(found + key.size());
    const std::string_view record = rest.substr(0, rest.find('\n'));
    if (record.size() > records::kRecordBytesMax) return std::nullopt;
    return std::string(record);
}

std::optional<std::string> read_trusted(const std::string &path, std::size_t bytes_max,
                                        uid_t owner) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return std::nullopt;
    struct stat status {};
    const bool trusted = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                         (status.st_uid == 0 || status.st_uid == owner) &&
                         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && status.st_size >= 0 &&
                         static_cast<uint64_t>(status.st_size) <= bytes_max;
    std::string text(trusted ? static_cast<std::size_t>(status.st_size) : 0, '\0');
    const ssize_t length = trusted ? read(file, text.data(), text.size()) : -1;
    close(file);
    if (length != static_cast<ssize_t>(text.size())) return std::nullopt;
    return text;
}

// A time in the future is from another boot.
std::optional<SubmitFacts> read_facts(const std::string &path, uid_t owner) {
    const auto text = read_trusted(path, kFactsBytesMax, owner);
    auto facts = text ? parse_facts(*text) : std::nullopt;
    const double now_s = boottime_s();
    if (!facts || facts->at_s > now_s || now_s - facts->at_s > kFactsMaxAge_s) return std::nullopt;
    return facts;
}

}  // namespace ringrt::slurm
