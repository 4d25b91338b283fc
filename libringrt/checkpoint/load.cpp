// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/load.h"

#include <algorithm>
#include <cstring>

#include "libringrt/checkpoint/save.h"
#include "libringrt/checkpoint/shard.h"

namespace ringrt::checkpoint {
namespace {

// What rank 0 tells the others to try next.
struct Candidate {
    Verdict verdict;  // ok: try `name`; NOT_FOUND: nothing left
    char name[80] = {};
    uint64_t manifest_bytes = 0;
};

Outcome same_parameters(const Manifest &manifest, const std::vector<Buffer> &buffers) {
    for (size_t i = 0; i < std::max(manifest.parameters.size(), buffers.size()); ++i) {
        const Parameter *saved = i < manifest.parameters.size() ? &manifest.parameters[i] : nullptr;
        const Parameter *here = i < buffers.size() ? &buffers[i].parameter : nullptr;
        if (!here || (saved && saved->name < here->name))
            return {RINGRT_MISMATCH,
                    "the checkpoint holds " + saved->name + ", which is not registered"};
        if (!saved || here->name < saved->name)
            return {RINGRT_MISMATCH,
                    here->name + " is registered, but the checkpoint does not hold it"};
        if (saved->dtype != here->dtype || saved->shape != here->shape)
            return {RINGRT_MISMATCH, here->name + " has another type or shape in the checkpoint"};
    }
    return {};
}

Outcome read_shards(Files &files, const std::string &folder, const Manifest &manifest,
                    const std::vector<Buffer> &buffers) {
    std::vector<Piece> pieces;
    for (const Shard &shard : manifest.shards) {
        ShardReader reader(files);
        Outcome outcome =
            reader.open(folder + "/" + shard_name(shard.rank), shard, manifest.parameters.size());
        if (outcome.ok()) outcome = reader.read_into(buffers);
        if (!outcome.ok()) return outcome;
        for (const TableRow &row : reader.table())
            pieces.push_back({row.parameter, row.offset, row.bytes});
    }
    if (Outcome tiled = check_tiling(manifest.parameters, std::move(pieces)); !tiled.ok())
        return {RINGRT_CORRUPT, "shards: " + tiled.message};
    return {};
}

}  // namespace

Outcome load_from(Store &store, const std::string &name, const std::string &manifest_text,
                 const std::vector<Buffer> &buffers, Manifest &manifest) {
    if (Outcome parsed = parse_manifest(manifest_text, manifest); !parsed.ok()) return parsed;
    if (Outcome same = same_parameters(manifest, buffers); !same.ok()) return same;
    return read_shards(store.files(), store.folder() + "/" + name, manifest, buffers);
}

namespace {

std::string step_text(const std::string &name) {
    return text("step %llu", static_cast<unsigned long long>(step_of(name).value_or(0)));
}

std::string join(const std::vector<std::string> &names) {
    std::string out;
    for (const std::string &name : names) out += (out.empty() ? "" : ", ") + name;
    return out;
}

// Rank 0's walk over the candidates.
class Walk {
  public:
    explicit Walk(Store &store) : store_(store) {}

    Outcome begin() {
        Outcome claimed = store_.claim();
        if (claimed.status == RINGRT_CHECKPOINT_FAILED) claimed.status = RINGRT_SYSTEM_ERROR;
        if (!claimed.ok()) return claimed;
        return store_.candidates(names_);
    }

    // The next candidate with a readable manifest; damaged ones on the way are set aside.
    Outcome next(std::string &name, std::string &manifest_text) {
        for (; at_ < names_.size(); ++at_) {
            Outcome read = store_.read_manifest(names_[at_], manifest_text);
            if (read.ok()) {
                name = names_[at_];
                return {};
            }
            if (read.status != RINGRT_CORRUPT) return read;
            give_up(read);
        }
        return nothing_left();
    }

    void refuse(const Outcome &why) {
        give_up(why);
        ++at_;
    }

  private:
    void give_up(const Outcome &why) {
        bool last = at_ + 1 == names_.size();
        log_line("checkpoint " + step_text(names_[at_]) + " incomplete (" + why.message +
                 "): " + (last ? "no older one is left" : "using " + step_text(names_[at_ + 1])));
        store_.set_aside(names_[at_]);
    }

    Outcome nothing_left() {
        std::vector<std::string> bad = store_.set_aside_names();
        if (bad.empty()) return {RINGRT_NOT_FOUND, "no checkpoint in " + store_.folder()};
        return {RINGRT_CORRUPT, "every checkpoint in " + store_.folder() + " is damaged (" +
                                    join(bad) +
                                    "): restore one from a copy, or remove them to start afresh"};
    }

    Store &store_;
    std::vector<std::string> names_;
    size_t at_ = 0;
};

Outcome share_manifest(Peers &peers, const Candidate &candidate, std::string &manifest_text) {
    manifest_text.resize(candidate.manifest_bytes);
    return peers.broadcast(std::as_writable_bytes(std::span(manifest_text)));
}

// Collective: tries candidates until one is loaded by all, or a reason to stop.
Outcome try_candidates(Peers &peers, Store &store, Walk &walk, Outcome begun,
                       const std::vector<Buffer> &buffers, Manifest &out) {
    for (;;) {
        Candidate candidate;
        std::string manifest_text, name;
        if (peers.rank() == 0) {
            if (begun.ok()) begun = walk.next(name, manifest_text);
            candidate.verdict = Verdict::of(begun);
            std::memcpy(candidate.name, name.data(),
                        std::min(name.size(), sizeof candidate.name - 1));
            candidate.manifest_bytes = manifest_text.size();
        }
        if (Outcome sent = broadcast(peers, candidate); !sent.ok()) return sent;
        if (candidate.verdict.status != RINGRT_OK) return candidate.verdict.outcome();
        if (Outcome sent = share_manifest(peers, candidate, manifest_text); !sent.ok()) return sent;
        Outcome all = vote(peers, load_from(store, candidate.name, manifest_text, buffers, out));
        if (all.ok() && peers.rank() == 0)
            store.started_from(candidate.name, hash_text(manifest_text));
        if (all.status != RINGRT_CORRUPT) return all;
        if (peers.rank() == 0) walk.refuse(all);
    }
}

}  // namespace

Outcome load(Peers &peers, Store &store, const std::vector<Buffer> &buffers, Manifest &out) {
    if (Outcome agreed = agree_on_parameters(peers, buffers, 0); !agreed.ok()) return agreed;
    Walk walk(store);
    Outcome begun;
    if (peers.rank() == 0) begun = walk.begin();
    return try_candidates(peers, store, walk, begun, buffers, out);
}

}  // namespace ringrt::checkpoint
