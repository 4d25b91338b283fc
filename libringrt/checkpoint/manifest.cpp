// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/manifest.h"

#include <algorithm>
#include <charconv>

#include "libringrt/checkpoint/hash.h"
#include "libringrt/checkpoint/manifest_tilings.h"
#include "libringrt/checkpoint/words.h"

namespace ringrt::checkpoint {
namespace {

constexpr std::string_view kManifestHead = "ringrt-checkpoint 1";
constexpr std::string_view kLatestHead = "ringrt-latest 1";

using u64 = unsigned long long;

// Removes the last line `end HASH` and checks it against everything above.
bool strip_seal(std::string_view &text) {
    constexpr size_t bytes = 4 + 16 + 1;
    if (text.size() < bytes || text.back() != '\n') return false;
    std::string_view body = text.substr(0, text.size() - bytes);
    Words words(text.substr(body.size(), bytes - 1));
    uint64_t hash = 0;
    if (!words.key("end") || !words.hash(hash) || hash != hash_text(body)) return false;
    text = body;
    return body.ends_with('\n');
}

std::string seal(std::string body) {
    return body + format_text("end %016llx\n", static_cast<u64>(hash_text(body)));
}

// printf's decimal point depends on the program's locale.
std::string milliseconds_text(double value) {
    char digits[32];
    auto [end, error] =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6);
    return error == std::errc() ? std::string(digits, end) : "0";
}

bool take_line(std::string_view &text, std::string_view &line) {
    size_t end = text.find('\n');
    if (end == text.npos) return false;
    line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return true;
}

bool parse_fence_words(Words &words, Fence &fence) {
    return words.key("job") && words.number(fence.job, UINT64_MAX) && words.key("restart") &&
           words.number(fence.restart, UINT32_MAX) && words.key("nonce") && words.hash(fence.nonce);
}

bool parse_head(std::string_view &text, Manifest &out) {
    std::string_view line;
    if (!take_line(text, line) || line != kManifestHead || !take_line(text, line)) return false;
    Words fence(line);
    if (!parse_fence_words(fence, out.fence) || !fence.at_end() || !take_line(text, line))
        return false;
    Words words(line);
    return words.key("step") && words.number(out.step, UINT64_MAX) && words.key("samples") &&
           words.number(out.samples, UINT64_MAX) && words.key("seed") &&
           words.number(out.seed, UINT64_MAX) && words.key("ranks") &&
           words.number(out.ranks, uint32_t{kShardsMax}) && out.ranks > 0 && words.key("time") &&
           words.number(out.time_s, INT64_MAX) && words.at_end();
}

// Precedes all fields counted in reference steps.
bool parse_batch(Words &words, Manifest &out) {
    return out.batch == 0 && out.speeds.empty() && out.losses.empty() && out.parameters.empty() &&
           out.shards.empty() && words.number(out.batch, UINT32_MAX) && out.batch > 0;
}

bool parse_speed(Words &words, Manifest &out) {
    Speed speed;
    if (out.speeds.size() == kSpeedsMax || !out.parameters.empty() || !out.shards.empty() ||
        !words.number(speed.gpus, uint32_t{kShardsMax}) || !words.milliseconds(speed.step_ms) ||
        (!out.speeds.empty() && speed.gpus <= out.speeds.back().gpus))
        return false;
    out.speeds.push_back(speed);
    return true;
}

// At most once, printable characters only. Its meaning is up to its writer.
bool parse_note(Words &words, const Manifest &manifest, std::string &out) {
    const std::string_view line = words.take_rest();
    if (line.empty() || line.size() > kNoteBytesMax || !out.empty() ||
        !manifest.parameters.empty() || !manifest.shards.empty() ||
        !std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }))
        return false;
    out = line;
    return true;
}

bool parse_parameter(Words &words, TilingReader &tilings, Manifest &out) {
    Parameter parameter;
    std::string_view type, held, name;
    size_t dimensions = 0, tiling = 0;
    if (out.parameters.size() == kParametersMax || !out.shards.empty() || !words.take(type) ||
        !dtype_from_name(type, parameter.dtype) || !words.take(held) ||
        (held != "whole" && held != "rows" && held != "tiling" && held != "blob") ||
        (held == "tiling" && !words.number(tiling, kBlocksMax)) ||
        !words.number(dimensions, kDimensionsMax))
        return false;
    parameter.sharded = held != "whole";
    parameter.blob = held == "blob";
    if (parameter.blob && (parameter.dtype != RINGRT_UINT8 || dimensions != 1)) return false;
    parameter.shape.resize(dimensions);
    for (uint64_t &extent : parameter.shape)
        if (!words.number(extent, UINT64_MAX)) return false;
    if (!words.take(name)) return false;
    parameter.name = name;
    if (!check(parameter).ok() ||
        (held == "tiling" && !tilings.find(tiling, parameter.shape, parameter.tiling)) ||
        (!out.parameters.empty() && parameter.name <= out.parameters.back().name))
        return false;
    out.parameters.push_back(std::move(parameter));
    return true;
}

bool parse_shard(Words &words, Manifest &out) {
    Shard shard;
    constexpr uint64_t bytes_max = uint64_t{1} << 62;
    if (!words.number(shard.rank, out.ranks - 1) || !words.number(shard.data_bytes, bytes_max) ||
        !words.number(shard.pieces, kPiecesMax) || !words.hash(shard.table_hash) ||
        (!out.shards.empty() && shard.rank <= out.shards.back().rank))
        return false;
    out.shards.push_back(shard);
    return true;
}

bool parse_file(Words &words, Manifest &out) {
    ProgramFile file;
    std::string_view name;
    if (out.files.size() == kProgramFilesMax || !words.number(file.bytes, uint64_t{1} << 62) ||
        !words.hash(file.hash) || !words.take(name) || !valid_file_name(name) ||
        (!out.files.empty() && name <= out.files.back().name))
        return false;
    file.name = name;
    out.files.push_back(std::move(file));
    return true;
}

// `block` lines precede the parameters that refer to them.
bool parse_block(Words &words, TilingReader &tilings, const Manifest &out) {
    return out.parameters.empty() && out.shards.empty() && tilings.read(words, out.ranks);
}

bool parse_body_line(std::string_view line, TilingReader &tilings, Manifest &out) {
    Words words(line);
    std::string_view key;
    if (!words.take(key)) return false;
    if (key != "file" && !out.files.empty()) return false;  // `file` lines come last
    bool good = key == "batch"       ? parse_batch(words, out)
                : key == "speed"     ? parse_speed(words, out)
                : key == "gradients" ? parse_note(words, out, out.gradients)
                : key == "losses"    ? parse_note(words, out, out.losses)
                : key == "block"     ? parse_block(words, tilings, out)
                : key == "param"     ? parse_parameter(words, tilings, out)
                : key == "shard"     ? parse_shard(words, out)
                : key == "file"      ? parse_file(words, out)
                                     : false;
    return good && words.at_end();
}

}  // namespace

bool is_reserved_name(std::string_view name) {
    return name == "manifest" || name.starts_with("shard-");
}

bool valid_file_name(std::string_view name) {
    return valid_name(name) && name.find('/') == name.npos && !is_reserved_name(name);
}

uint64_t hash_text(std::string_view text) { return hash64(std::as_bytes(std::span(text))); }

std::string format_manifest(const Manifest &m) {
    std::string out = std::string(kManifestHead) + "\n";
    out += format_text("job %llu restart %u nonce %016llx\n", static_cast<u64>(m.fence.job),
                       m.fence.restart, static_cast<u64>(m.fence.nonce));
    out += format_text("step %llu samples %llu seed %llu ranks %u time %lld\n",
                       static_cast<u64>(m.step), static_cast<u64>(m.samples),
                       static_cast<u64>(m.seed), m.ranks, static_cast<long long>(m.time_s));
    if (m.batch > 0) out += format_text("batch %u\n", m.batch);
    for (const Speed &speed : m.speeds)
        out += format_text("speed %u ", speed.gpus) + milliseconds_text(speed.step_ms) + "\n";
    if (!m.gradients.empty() && m.gradients.size() <= kNoteBytesMax)
        out += "gradients " + m.gradients + "\n";
    if (!m.losses.empty() && m.losses.size() <= kNoteBytesMax) out += "losses " + m.losses + "\n";
    TilingWriter tilings(m.parameters);
    out += tilings.block_lines();
    for (const Parameter &parameter : m.parameters) {
        out += format_text("param %s %s %zu", dtype_of(parameter.dtype)->name.data(),
                           tilings.held(parameter).c_str(), parameter.shape.size());
        for (uint64_t extent : parameter.shape)
            out += format_text(" %llu", static_cast<u64>(extent));
        out += " " + parameter.name + "\n";
    }
    for (const Shard &shard : m.shards)
        out += format_text("shard %u %llu %llu %016llx\n", shard.rank,
                           static_cast<u64>(shard.data_bytes), static_cast<u64>(shard.pieces),
                           static_cast<u64>(shard.table_hash));
    for (const ProgramFile &file : m.files)
        out += format_text("file %llu %016llx ", static_cast<u64>(file.bytes),
                           static_cast<u64>(file.hash)) +
               file.name + "\n";
    return seal(std::move(out));
}

Status parse_manifest(std::string_view text, Manifest &out) {
    if (text.size() > kManifestBytesMax) return {RINGRT_CORRUPT, "manifest: too long"};
    if (!strip_seal(text)) return {RINGRT_CORRUPT, "manifest: its hash does not match"};
    Manifest manifest;
    if (!parse_head(text, manifest))
        return {RINGRT_CORRUPT, "manifest: not of format ringrt-checkpoint 1 (lines 1 to 3)"};
    int number = 4;
    TilingReader tilings;
    for (std::string_view line; take_line(text, line); ++number)
        if (!parse_body_line(line, tilings, manifest))
            return {RINGRT_CORRUPT, format_text("manifest: line %d is not right", number)};
    out = std::move(manifest);
    return {};
}

std::string format_latest(const Latest &latest) {
    return seal(std::string(kLatestHead) + "\n" + latest.directory +
                format_text(" %016llx\n", static_cast<u64>(latest.manifest_hash)));
}

bool parse_latest(std::string_view text, Latest &out) {
    std::string_view head, line, directory;
    if (text.size() > kLatestBytesMax || !strip_seal(text) || !take_line(text, head) ||
        head != kLatestHead || !take_line(text, line) || !text.empty())
        return false;
    Words words(line);
    Latest latest;
    if (!words.take(directory) || !words.hash(latest.manifest_hash) || !words.at_end())
        return false;
    latest.directory = directory;
    out = latest;
    return true;
}

}  // namespace ringrt::checkpoint
