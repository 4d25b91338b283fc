// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/store.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>

#include "libringrt/checkpoint/program_files.h"
#include "libringrt/checkpoint/shard.h"

namespace ringrt::checkpoint {
namespace {

constexpr size_t kBadKept = 3;  // damaged checkpoints kept for inspection
constexpr const char *kManifest = "manifest";

std::string hex(uint64_t value) {
    return format_text("%016llx", static_cast<unsigned long long>(value));
}

bool is_bad(const std::string &name) { return name.starts_with("step-") && name.ends_with(".bad"); }

// Newest first: names are padded, so they sort by step.
void newest_first(std::vector<std::string> &names) {
    std::ranges::sort(names, [](const std::string &a, const std::string &b) {
        return std::pair(step_of(a).value_or(0), a) > std::pair(step_of(b).value_or(0), b);
    });
}

std::vector<std::string> only(const std::vector<std::string> &names,
                              bool (*wanted)(const std::string &)) {
    std::vector<std::string> out;
    std::ranges::copy_if(names, std::back_inserter(out), wanted);
    newest_first(out);
    return out;
}

bool is_checkpoint(const std::string &name) { return step_of(name).has_value(); }

Status superseded(const Fence &newer, const Fence &own) {
    std::string by = format_text("job %llu", static_cast<unsigned long long>(newer.job));
    if (newer.job == own.job) by = format_text("restart %u", newer.restart);
    if (newer.job == own.job && newer.restart == own.restart) by = "another start of this program";
    return {RINGRT_SUPERSEDED,
            "superseded by " + by + ": this run must not write checkpoints, and ends"};
}

}  // namespace

Status make_fence(Group &group, uint64_t job, uint32_t restart, Fence &out) {
    out = {.job = job, .restart = restart};
    if (getrandom(&out.nonce, sizeof out.nonce, 0) != sizeof out.nonce)
        return {RINGRT_SYSTEM_ERROR, "no random numbers"};
    return broadcast(group, out);
}

std::optional<uint64_t> step_of(const std::string &name) {
    if (!name.starts_with("step-") || name.size() > 64) return std::nullopt;
    const char *end = name.data() + name.size();
    uint64_t step = 0, copy = 0;
    auto [at, error] = std::from_chars(name.data() + 5, end, step);
    if (error != std::errc()) return std::nullopt;
    if (at == end) return step;
    if (*at != '.') return std::nullopt;
    auto [last, copy_error] = std::from_chars(at + 1, end, copy);
    return copy_error == std::errc() && last == end ? std::optional(step) : std::nullopt;
}

Status Store::claim() {
    if (claim_) return check_fence();
    if (int result = make_directories(files_, directory_); result < 0)
        return write_failure(result, directory_);
    if (Status made = make_claim(); !made.ok()) return made;
    remove_leftovers();
    return {};
}

Status Store::make_claim() {
    std::vector<std::string> names;
    int result = files_.list(directory_, names);
    if (result < 0) return write_failure(result, directory_);
    Claim mine{.number = 1, .fence = fence_};
    for (const Claim &claim : claims_in(names))
        mine.number = std::max(mine.number, claim.number + 1);
    for (const Claim &claim : claims_in(names))
        if (supersedes(claim, mine)) return superseded(claim.fence, fence_);
    result = make_empty_file(files_, at(claim_name(mine)));  // its name is its content
    if (result == 0) result = files_.sync_directory(directory_);
    if (result < 0) return write_failure(result, at(claim_name(mine)));
    claim_ = mine;
    return check_fence();
}

Status Store::check_fence() {
    std::vector<std::string> names;
    if (int result = files_.list(directory_, names); result < 0)
        return write_failure(result, directory_);
    std::optional<Claim> newest;
    for (const Claim &claim : claims_in(names))
        if (!newest || supersedes(claim, *newest)) newest = claim;
    if (newest && *newest != *claim_) return superseded(newest->fence, fence_);
    return newest ? Status{} : make_claim();  // the directory was emptied
}

// Removes what an earlier incarnation left or is still writing, first its prepared LATEST file
// (.latest-*). A directory is renamed before its files are removed, because its owner may rename it
// at any moment.
void Store::remove_leftovers() {
    std::vector<std::string> names;
    files_.list(directory_, names);
    for (const std::string &name : names)
        if (name.starts_with(".latest-")) files_.remove(at(name));
    int number = 0;
    for (const std::string &name : names) {
        if (!name.starts_with(".tmp-")) continue;
        const std::string gone =
            at(".tmp-" + hex(fence_.nonce) + format_text("-gone-%d", number++));
        if (files_.rename(at(name), gone) == 0) remove_flat_directory(files_, gone);
    }
    for (const Claim &claim : claims_in(names))
        if (supersedes(*claim_, claim)) files_.remove(at(claim_name(claim)));
}

Status Store::check_space(uint64_t bytes) {
    int64_t available = files_.free_bytes(directory_);
    if (available < 0 || static_cast<uint64_t>(available) >= bytes) return {};  // unknown: try
    return {RINGRT_CHECKPOINT_FAILED,
            format_text("checkpoint failed: no space left (needs %s, has %s): free some in %s",
                        bytes_text(bytes).c_str(),
                        bytes_text(static_cast<uint64_t>(available)).c_str(), directory_.c_str())};
}

Status Store::begin(uint64_t step, std::string &fresh) {
    std::string name =
        ".tmp-" + hex(fence_.nonce) + format_text("-%llu", static_cast<unsigned long long>(step));
    remove_flat_directory(files_, at(name));  // of a failed save at this step
    if (int result = files_.make_directory(at(name)); result < 0)
        return write_failure(result, at(name));
    fresh = name;
    return {};
}

Status Store::commit(const std::string &fresh, const Manifest &manifest,
                     std::vector<std::string> *old) {
    const std::string path = at(fresh);
    const std::string content = format_manifest(manifest);
    if (content.size() > kManifestBytesMax)
        return {RINGRT_CHECKPOINT_FAILED,
                format_text("checkpoint failed: the manifest would have %zu bytes, at most %zu are "
                            "read: register fewer or larger buffers, or cut them alike",
                            content.size(), kManifestBytesMax)};
    const std::string name = free_name(manifest.step);
    int result = write_new_file(files_, path + "/" + kManifest, content);
    if (result == 0) result = files_.sync_directory(path);
    if (result < 0) return write_failure(result, path);
    if (Status ready = prepare_latest({name, hash_text(content)}); !ready.ok()) return ready;
    if (Status own = check_fence(); !own.ok()) return own;
    result = files_.rename(path, at(name));
    if (result == -ENOENT) {  // a newer incarnation's claim removed it
        Status own = check_fence();
        return own.ok() ? write_failure(result, path) : own;
    }
    if (result == 0) result = files_.sync_directory(directory_);
    if (result < 0) return write_failure(result, at(name));
    if (Status named = publish_latest(); !named.ok()) return named;
    *old = rotate();
    return {};
}

void Store::discard(const std::string &fresh) {
    remove_flat_directory(files_, at(fresh));
    files_.remove(at(".latest-" + hex(fence_.nonce)));
}

// After a restart from an older step, a step can be saved again. The first copy stays unchanged.
std::string Store::free_name(uint64_t step) {
    std::vector<std::string> names;
    files_.list(directory_, names);
    const std::string plain = format_text("step-%012llu", static_cast<unsigned long long>(step));
    std::string name = plain;
    for (int copy = 1; std::ranges::find(names, name) != names.end(); ++copy)
        name = plain + format_text(".%d", copy);
    return name;
}

Status Store::prepare_latest(const Latest &latest) {
    const std::string fresh = at(".latest-" + hex(fence_.nonce));
    files_.remove(fresh);
    int result = write_new_file(files_, fresh, format_latest(latest));
    return result < 0 ? write_failure(result, fresh) : Status{};
}

Status Store::publish_latest() {
    int result = files_.rename(at(".latest-" + hex(fence_.nonce)), at("LATEST"));
    if (result == 0) result = files_.sync_directory(directory_);
    return result < 0 ? write_failure(result, at("LATEST")) : Status{};
}

std::optional<Latest> Store::read_latest() {
    std::string content;
    Latest latest;
    if (read_file(files_, at("LATEST"), kLatestBytesMax, content) < 0) return std::nullopt;
    if (!parse_latest(content, latest) || !is_checkpoint(latest.directory)) return std::nullopt;
    return latest;
}

Status Store::candidates(std::vector<std::string> &names) {
    std::vector<std::string> all;
    int result = files_.list(directory_, all);
    if (result < 0)
        return {RINGRT_SYSTEM_ERROR,
                format_text("cannot list %s: %s", directory_.c_str(), strerror(-result))};
    names = only(all, is_checkpoint);
    if (std::optional<Latest> latest = read_latest()) {
        auto found = std::ranges::find(names, latest->directory);
        if (found != names.end()) std::rotate(names.begin(), found, found + 1);
    } else if (std::ranges::find(all, "LATEST") != all.end()) {
        log_line("LATEST is damaged: trying the newest checkpoint");
    }
    return {};
}

Status Store::claim_and_look(std::vector<std::string> &names) {
    const Status claimed = claim();
    return claimed.ok() ? candidates(names) : claimed;
}

std::vector<std::string> Store::set_aside_names() {
    std::vector<std::string> names;
    files_.list(directory_, names);
    return only(names, is_bad);
}

Status Store::read_manifest(const std::string &name, std::string &manifest_text) {
    int result = read_file(files_, at(name) + "/" + kManifest, kManifestBytesMax, manifest_text);
    if (result < 0) return read_failure(result, kManifest);
    Manifest manifest;
    if (Status parsed = parse_manifest(manifest_text, manifest); !parsed.ok()) return parsed;
    std::optional<Latest> latest = read_latest();
    if (latest && latest->directory == name && latest->manifest_hash != hash_text(manifest_text))
        return {RINGRT_CORRUPT, "manifest: not the one that LATEST names"};
    if (manifest.step != step_of(name)) return {RINGRT_CORRUPT, "manifest: of another step"};
    std::vector<std::string> present;
    result = files_.list(at(name), present);
    if (result < 0) return read_failure(result, name);
    std::set<std::string> expected;
    for (const Shard &shard : manifest.shards) expected.insert(shard_name(shard.rank));
    for (const std::string &file : present)
        if (file.starts_with("shard-") && !expected.contains(file))
            return {RINGRT_CORRUPT, file + ": not in the manifest"};
    return verify_program_files(files_, at(name), manifest.files);
}

void Store::quarantine(const std::string &name) {
    std::string to = at(name) + ".bad";
    remove_flat_directory(files_, to);
    int result = files_.rename(at(name), to);
    if (result == 0) result = files_.sync_directory(directory_);
    if (result < 0)
        log_line(format_text("cannot set %s aside: %s", name.c_str(), strerror(-result)));
}

void Store::started_from(const std::string &name, uint64_t manifest_hash) {
    started_from_ = name;
    std::optional<Latest> latest = read_latest();
    if (latest && latest->directory == name) return;
    Status named = prepare_latest({name, manifest_hash});
    if (named.ok()) named = check_fence();  // the load took time
    if (named.ok()) named = publish_latest();
    if (named.ok()) return;
    files_.remove(at(".latest-" + hex(fence_.nonce)));
    log_line("LATEST not updated: " + named.message);
}

// Renamed first, so that a crash midway leaves no partial checkpoint under a checkpoint's name.
// Best effort: what cannot be renamed now is renamed after a later save.
std::vector<std::string> Store::rotate() {
    std::vector<std::string> all, old;
    if (files_.list(directory_, all) < 0) return old;
    const std::optional<Latest> latest = read_latest();
    size_t kept = 0;
    for (const std::string &name : only(all, is_checkpoint)) {
        bool needed = name == started_from_ || (latest && name == latest->directory);
        if (needed || ++kept < keep_) continue;
        const std::string hidden = at(".tmp-" + hex(fence_.nonce) + "-old-" + name);
        if (files_.rename(at(name), hidden) == 0) old.push_back(hidden);
    }
    size_t bad = 0;
    for (const std::string &name : only(all, is_bad))
        if (++bad > kBadKept) old.push_back(at(name));
    return old;
}

}  // namespace ringrt::checkpoint
