// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/load.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "libringrt/checkpoint/save.h"
#include "libringrt/checkpoint/shard.h"

namespace ringrt::checkpoint {

Status check_same(const Parameter &saved, const Parameter &here) {
    if (saved.dtype == here.dtype && saved.shape == here.shape && !saved.blob) return {};
    return {RINGRT_MISMATCH, here.name + " has another type or shape in the checkpoint"};
}

namespace {

// The checkpoint that rank 0 lets all ranks try next.
struct Candidate {
    StatusMessage status_message;  // ok: try `name`; NOT_FOUND: none is left
    char name[80] = {};
    uint64_t manifest_bytes = 0;
};

Status same_parameters(const Manifest &manifest, const std::vector<Buffer> &buffers, bool partly) {
    auto saved = manifest.parameters.begin();
    const auto end = manifest.parameters.end();
    for (auto here = buffers.begin();; ++here, ++saved) {
        const bool last = here == buffers.end();
        for (; saved != end && (last || saved->name < here->parameter.name); ++saved)
            if (!partly)
                return {RINGRT_MISMATCH,
                        "the checkpoint holds " + saved->name + ", which is not registered"};
        if (last) return {};
        if (saved == end || here->parameter.name < saved->name)
            return {RINGRT_MISMATCH,
                    here->parameter.name + " is registered, but the checkpoint does not hold it"};
        RINGRT_TRY(check_same(*saved, here->parameter));
    }
}

// Which of the parts that no buffer holds this rank checks.
struct Share {
    bool any = false;
    int rank = 0, size = 1;

    bool has(size_t shard) const {
        return any && shard % static_cast<size_t>(size) == static_cast<size_t>(rank);
    }
};

Part read_shards(Files &files, const std::string &directory, const Manifest &manifest,
                 const std::vector<Buffer> &buffers, const Share &share,
                 std::vector<std::vector<uint32_t>> &shards_of) {
    std::vector<Piece> pieces;
    Staging staging;
    const std::vector<Target> targets = targets_of(manifest.parameters, buffers);
    shards_of.assign(manifest.parameters.size(), {});
    for (uint32_t i = 0; i < manifest.shards.size(); ++i) {
        const Shard &shard = manifest.shards[i];
        ShardReader reader(files);
        Status outcome = reader.open(directory + "/" + shard_name(shard.rank), shard,
                                     manifest.parameters.size());
        if (outcome.ok()) outcome = reader.read_into(targets, staging);
        if (outcome.ok() && share.has(i))
            outcome =
                reader.verify([&](const TableRow &row) { return !targets[row.parameter].here(); });
        if (!outcome.ok()) return {outcome, static_cast<int32_t>(i), staging.failed()};
        for (const TableRow &row : reader.table()) {
            pieces.push_back({row.parameter, row.offset, row.bytes});
            std::vector<uint32_t> &holders = shards_of[row.parameter];
            if (holders.empty() || holders.back() != i) holders.push_back(i);
        }
    }
    if (Status tiled = check_tiling(manifest.parameters, std::move(pieces)); !tiled.ok())
        return {{RINGRT_CORRUPT, "shards: " + tiled.message}};
    return {};
}

Part load_part(Store &store, const std::string &name, const std::string &manifest_text,
               const std::vector<Buffer> &buffers, const Share &share, Rest &out) {
    out.directory = store.directory() + "/" + name;
    if (Status parsed = parse_manifest(manifest_text, out.manifest); !parsed.ok()) return {parsed};
    if (Status same = same_parameters(out.manifest, buffers, share.any); !same.ok()) return {same};
    return read_shards(store.files(), out.directory, out.manifest, buffers, share, out.shards);
}

}  // namespace

Part load_from(Store &store, const std::string &name, const std::string &manifest_text,
               const std::vector<Buffer> &buffers, Manifest &manifest) {
    Rest rest;
    Part part = load_part(store, name, manifest_text, buffers, {}, rest);
    manifest = std::move(rest.manifest);
    return part;
}

Part load_from(Group &group, Store &store, const std::string &name,
               const std::string &manifest_text, const std::vector<Buffer> &buffers,
               Manifest &manifest, Rest *rest) {
    if (!rest) return load_from(store, name, manifest_text, buffers, manifest);
    Part part = load_part(store, name, manifest_text, buffers,
                          {.any = true, .rank = group.rank(), .size = group.size()}, *rest);
    manifest = rest->manifest;
    return part;
}

namespace {

std::string step_text(const std::string &name) {
    return format_text("step %llu", static_cast<unsigned long long>(step_of(name).value_or(0)));
}

std::string join(const std::vector<std::string> &names) {
    std::string out;
    for (const std::string &name : names) out += (out.empty() ? "" : ", ") + name;
    return out;
}

void wait_s(double pause_s) { std::this_thread::sleep_for(std::chrono::duration<double>(pause_s)); }

void log_retry(const std::string &what, double pause_s) {
    log_line(what + format_text(": trying again in %.0f s", pause_s));
}

}  // namespace

bool is_unusable(const Status &outcome) {
    return outcome.code == RINGRT_CORRUPT || outcome.code == RINGRT_SYSTEM_ERROR;
}

Status with_retries(const Pauses &pauses_s, const std::function<Status()> &what) {
    for (size_t tries = 0;; ++tries) {
        Status outcome = what();
        if (outcome.code == RINGRT_CHECKPOINT_FAILED) outcome.code = RINGRT_SYSTEM_ERROR;
        if (outcome.code != RINGRT_SYSTEM_ERROR || tries == pauses_s.size()) return outcome;
        log_retry(outcome.message, pauses_s[tries]);
        wait_s(pauses_s[tries]);
    }
}

namespace {

// Rank 0's iteration over the candidates.
class Walk {
  public:
    Walk(Store &store, const Pauses &pauses_s) : store_(store), pauses_s_(pauses_s) {}

    Status begin() {
        return with_retries(pauses_s_, [&] { return store_.claim_and_look(names_); });
    }

    // The next candidate with a readable manifest; sets damaged ones aside.
    Status next(std::string &name, std::string &manifest_text) {
        for (; at_ < names_.size(); ++at_) {
            Status read = with_retries(
                pauses_s_, [&] { return store_.read_manifest(names_[at_], manifest_text); });
            if (read.ok()) {
                name = names_[at_];
                return {};
            }
            if (read.code != RINGRT_CORRUPT) return read;
            give_up(read);
        }
        return nothing_left();
    }

    void refuse(const Status &why) {
        give_up(why);
        ++at_;
    }

  private:
    void give_up(const Status &why) {
        bool last = at_ + 1 == names_.size();
        log_line("checkpoint " + step_text(names_[at_]) + " incomplete (" + why.message +
                 "): " + (last ? "no older one is left" : "using " + step_text(names_[at_ + 1])));
        store_.quarantine(names_[at_]);
    }

    Status nothing_left() {
        std::vector<std::string> bad = store_.set_aside_names();
        if (bad.empty()) return {RINGRT_NOT_FOUND, "no checkpoint in " + store_.directory()};
        return {RINGRT_CORRUPT,
                "every checkpoint in " + store_.directory() + " is damaged (" + join(bad) +
                    "): restore one from a copy, or remove them to start from step 0"};
    }

    Store &store_;
    const Pauses &pauses_s_;
    std::vector<std::string> names_;
    size_t at_ = 0;
};

Status share_manifest(Group &group, const Candidate &candidate, std::string &manifest_text) {
    manifest_text.resize(candidate.manifest_bytes);
    return group.broadcast(std::as_writable_bytes(std::span(manifest_text)));
}

// A rank's report on its part.
struct PartReport {
    StatusMessage status_message;
    int32_t shard = -1;
    char node[59] = {};
    bool by_device = false;
};

PartReport report_part(const Part &mine) {
    PartReport told{.status_message = StatusMessage::of(mine.outcome), .shard = mine.shard};
    told.by_device = mine.by_device;
    gethostname(told.node, sizeof told.node - 1);
    return told;
}

// Rank 0 checks the shard that another rank failed to read.
Status read_again(Store &store, const std::string &name, const Manifest &manifest, const Part &mine,
                  int32_t shard) {
    if (shard < 0 || static_cast<size_t>(shard) >= manifest.shards.size()) return mine.outcome;
    const Shard &expected = manifest.shards[static_cast<size_t>(shard)];
    ShardReader reader(store.files());
    Status seen = reader.open(store.directory() + "/" + name + "/" + shard_name(expected.rank),
                              expected, manifest.parameters.size());
    return seen.ok() ? reader.verify() : seen;
}

// Collective: tries one candidate. CORRUPT only if rank 0 has confirmed it.
Status try_one(Group &group, Store &store, const std::string &name,
               const std::string &manifest_text, const std::vector<Buffer> &buffers, Manifest &out,
               const Pauses &pauses_s, Rest *rest) {
    for (size_t tries = 0;; ++tries) {
        const Part mine = load_from(group, store, name, manifest_text, buffers, out, rest);
        std::vector<PartReport> all;
        if (Status told = gather(group, report_part(mine), all); !told.ok()) return told;
        const auto failed = std::ranges::find_if(
            all, [](const PartReport &told) { return told.status_message.code != RINGRT_OK; });
        if (failed == all.end()) return {};
        const Status why = failed->status_message.outcome();
        if (!is_unusable(why) || failed->by_device) return why;
        Status seen;
        if (group.rank() == 0) seen = read_again(store, name, out, mine, failed->shard);
        seen = broadcast_status(group, seen);
        if (!seen.ok() && seen.code != RINGRT_SYSTEM_ERROR) return seen;
        const std::string who =
            format_text("rank %td on %s: ", failed - all.begin(), failed->node) + why.message +
            (seen.ok() ? ", but rank 0 can read it" : "");
        if (tries == pauses_s.size())
            return {RINGRT_SYSTEM_ERROR,
                    "cannot load " + store.directory() + "/" + name + ": " + who};
        if (group.rank() == 0) log_retry(who, pauses_s[tries]);
        wait_s(pauses_s[tries]);
        std::vector<std::string> names;  // a listing makes a network file system refresh its cache
        store.files().list(store.directory() + "/" + name, names);
    }
}

// Collective: tries candidates until all ranks load one, or an error ends the load.
Status try_candidates(Group &group, Store &store, Walk &walk, Status begun,
                      const std::vector<Buffer> &buffers, Manifest &out, const Pauses &pauses_s,
                      Rest *rest) {
    for (;;) {
        Candidate candidate;
        std::string manifest_text, name;
        if (group.rank() == 0) {
            if (begun.ok()) begun = walk.next(name, manifest_text);
            candidate.status_message = StatusMessage::of(begun);
            std::memcpy(candidate.name, name.data(),
                        std::min(name.size(), sizeof candidate.name - 1));
            candidate.manifest_bytes = manifest_text.size();
        }
        if (Status sent = broadcast(group, candidate); !sent.ok()) return sent;
        if (candidate.status_message.code != RINGRT_OK) return candidate.status_message.outcome();
        if (Status sent = share_manifest(group, candidate, manifest_text); !sent.ok()) return sent;
        Status all =
            try_one(group, store, candidate.name, manifest_text, buffers, out, pauses_s, rest);
        if (all.ok() && group.rank() == 0)
            store.started_from(candidate.name, hash_text(manifest_text));
        if (all.code != RINGRT_CORRUPT) return all;
        if (group.rank() == 0) walk.refuse(all);
    }
}

}  // namespace

Status load(Group &group, Store &store, const std::vector<Buffer> &buffers, Manifest &out,
            const Pauses &pauses_s, Rest *rest) {
    std::vector<Buffer> placed;
    RINGRT_TRY(agree_on_parameters(group, buffers, 0, &placed));
    Walk walk(store, pauses_s);
    Status begun;
    if (group.rank() == 0) begun = walk.begin();
    return try_candidates(group, store, walk, begun, buffers, out, pauses_s, rest);
}

}  // namespace ringrt::checkpoint
