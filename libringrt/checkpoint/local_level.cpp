// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/local_level.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "libringrt/checkpoint/shard.h"

namespace ringrt::checkpoint {
namespace {

constexpr size_t kKept = 1;  // the shared level keeps older ones

struct Begun {
    StatusMessage status_message;
    char fresh[96] = {};
};

// What one node holds, reported by its first rank.
struct Offer {
    StatusMessage status_message;
    uint64_t has = 0;
    uint64_t step = 0;
    Fence fence;  // which run saved it: the same step of another run is a different state
    char name[80] = {};
};

template <typename Told>
Status worst_of(const std::vector<Told> &all) {
    for (const Told &told : all)
        if (told.status_message.code != RINGRT_OK) return told.status_message.outcome();
    return {};
}

template <size_t N>
void put(char (&out)[N], const std::string &text) {
    std::memcpy(out, text.data(), std::min(text.size(), N - 1));
}

Offer offer_of(Store &store) {
    Offer offer;
    Status claimed = store.claim();
    if (claimed.code == RINGRT_SUPERSEDED) offer.status_message = StatusMessage::of(claimed);
    std::vector<std::string> names;
    if (!claimed.ok() || !store.candidates(names).ok() || names.empty()) return offer;
    std::string manifest_text;
    Manifest manifest;
    Status read = store.read_manifest(names[0], manifest_text);
    if (read.ok()) read = parse_manifest(manifest_text, manifest);
    if (read.code == RINGRT_CORRUPT) store.quarantine(names[0]);
    if (!read.ok()) return offer;
    offer.has = 1;
    offer.step = manifest.step;
    offer.fence = manifest.fence;
    put(offer.name, names[0]);
    return offer;
}

}  // namespace

LocalLevel::LocalLevel(Group &group, Files &files, const std::string &directory,
                       const std::string &node, Fence fence, LayoutOptions options)
    : group_(group),
      store_(files, directory, fence, kKept),
      options_(options),
      node_(directory.empty() ? 0 : hash_text(node + "/" + directory) | 1) {}

Status LocalLevel::join() {
    if (Status told = gather(group_, node_, node_of_); !told.ok()) return told;
    there_ = std::ranges::count(node_of_, uint64_t{0}) == 0;
    if (!there_) return {};
    std::vector<uint64_t> nodes = node_of_;
    std::ranges::sort(nodes);
    nodes_ = static_cast<int>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
    const auto here = node_of_.begin() + group_.rank();
    first_ = static_cast<int>(std::ranges::find(node_of_, node_) - node_of_.begin());
    node_rank_ = static_cast<int>(std::count(node_of_.begin(), here, node_));
    node_size_ = static_cast<int>(std::ranges::count(node_of_, node_));
    return {};
}

Status LocalLevel::begin(uint64_t step, uint64_t bytes, std::string &fresh) {
    Status outcome = store_.claim();
    if (outcome.ok()) outcome = store_.check_space(bytes_on_disk(bytes));
    if (outcome.ok()) outcome = store_.begin(step, fresh);
    return as_checkpoint_failure(outcome);
}

// The ranks of a node divide the work as all ranks do on the shared level.
Status LocalLevel::write(const std::vector<Buffer> &buffers, const std::string &fresh,
                         Shard &shard) {
    const std::vector<Source> sources = sources_to_write(buffers, node_rank_, node_size_, options_);
    if (sources.empty()) return {};
    const std::string path = store_.directory() + "/" + fresh + "/" + shard_name(shard.rank);
    return as_checkpoint_failure(write_shard(store_.files(), path, sources, shard));
}

Status LocalLevel::commit(const std::string &fresh, const std::vector<Buffer> &buffers,
                          const Meta &meta, std::vector<Shard> shards) {
    Manifest manifest = manifest_of(store_.fence(), meta, group_.size(), buffers);
    manifest.shards = std::move(shards);
    std::vector<std::string> old;
    Status committed = as_checkpoint_failure(store_.commit(fresh, manifest, &old));
    for (const std::string &each : old) remove_flat_directory(store_.files(), each);
    return committed;
}

// The first rank of each node begins. All learn the directory on their node and the worst status.
Status LocalLevel::begin_all(uint64_t step, uint64_t bytes, std::string &fresh, Status &worst) {
    Begun mine;
    if (leads()) mine.status_message = StatusMessage::of(begin(step, bytes, fresh));
    put(mine.fresh, fresh);
    std::vector<Begun> all;
    RINGRT_TRY(gather(group_, mine, all));
    worst = worst_of(all);
    fresh = all[static_cast<size_t>(first_)].fresh;
    return {};
}

// Nothing is written if some rank has failed. `shards` are those of this node.
Status LocalLevel::write_all(const std::vector<Buffer> &buffers, const std::string &fresh,
                             Status &worst, std::vector<Shard> &shards) {
    Written mine{.status_message = {}, .shard = {.rank = static_cast<uint32_t>(node_rank_)}};
    if (worst.ok()) mine.status_message = StatusMessage::of(write(buffers, fresh, mine.shard));
    std::vector<Written> all;
    RINGRT_TRY(gather(group_, mine, all));
    if (worst.ok()) worst = worst_of(all);
    for (size_t rank = 0; rank < all.size(); ++rank)
        if (node_of_[rank] == node_ && all[rank].shard.pieces > 0)
            shards.push_back(all[rank].shard);
    return {};
}

Status LocalLevel::save(const std::vector<Buffer> &buffers, const Meta &meta) {
    const bool sharded =
        std::ranges::any_of(buffers, [](const Buffer &buffer) { return buffer.parameter.sharded; });
    if (sharded && nodes_ > 1)
        return {RINGRT_CHECKPOINT_FAILED,
                "checkpoint failed: buffers by rows over several nodes have no node-local level"};
    std::vector<Buffer> placed;
    RINGRT_TRY(agree_on_parameters(group_, buffers, meta.step, &placed));
    std::string fresh;
    Status worst;
    RINGRT_TRY(begin_all(meta.step, total_bytes(placed), fresh, worst));
    std::vector<Shard> shards;
    RINGRT_TRY(write_all(placed, fresh, worst, shards));
    if (leads() && worst.ok()) worst = commit(fresh, placed, meta, std::move(shards));
    if (leads() && !worst.ok() && !fresh.empty()) store_.discard(fresh);
    return agree(group_, worst);
}

Status LocalLevel::newest(std::optional<uint64_t> &step) {
    step.reset();
    std::vector<Offer> all;
    const Offer mine = leads() ? offer_of(store_) : Offer{};
    if (Status told = gather(group_, mine, all); !told.ok()) return told;
    if (Status worst = worst_of(all); !worst.ok()) return worst;
    for (size_t rank = 0; rank < all.size(); ++rank) {
        const bool first = std::ranges::find(node_of_, node_of_[rank]) - node_of_.begin() ==
                           static_cast<std::ptrdiff_t>(rank);
        if (first &&
            (!all[rank].has || all[rank].step != all[0].step || all[rank].fence != all[0].fence))
            return {};
    }
    name_ = all[static_cast<size_t>(first_)].name;
    step = all[0].step;
    return {};
}

Status LocalLevel::load(const std::vector<Buffer> &buffers, Manifest &out) {
    std::string manifest_text;
    Status mine = store_.read_manifest(name_, manifest_text);
    if (mine.ok()) mine = load_from(store_, name_, manifest_text, buffers, out).outcome;
    std::vector<StatusMessage> all;
    if (Status told = gather(group_, StatusMessage::of(mine), all); !told.ok()) return told;
    Status worst;
    bool damaged_here = false;
    for (size_t rank = 0; rank < all.size(); ++rank) {
        if (worst.ok()) worst = all[rank].outcome();
        damaged_here |= node_of_[rank] == node_ && all[rank].code == RINGRT_CORRUPT;
    }
    if (leads() && damaged_here) store_.quarantine(name_);
    if (!worst.ok()) return worst;
    if (leads()) store_.started_from(name_, hash_text(manifest_text));
    return follow_manifest(manifest_text, out);
}

// Only rank 0's manifest has what was learned, and all ranks must continue with the same data.
Status LocalLevel::follow_manifest(std::string &manifest_text, Manifest &out) {
    uint64_t bytes = manifest_text.size();
    if (Status sent = broadcast(group_, bytes); !sent.ok()) return sent;
    manifest_text.resize(bytes);
    Status sent = group_.broadcast(std::as_writable_bytes(std::span(manifest_text)));
    return sent.ok() ? parse_manifest(manifest_text, out) : sent;
}

namespace {

struct SharedNewest {
    StatusMessage status_message;
    int64_t step = -1;
};

// Rank 0 claims before any rank lists the directory. An unreadable directory is an error, not an
// empty one: the nodes' own checkpoint may be older.
Status shared_newest(Group &group, Store &shared, const Pauses &pauses_s, int64_t &step) {
    SharedNewest found;
    if (group.rank() == 0) {
        std::vector<std::string> names;
        found.status_message =
            StatusMessage::of(with_retries(pauses_s, [&] { return shared.claim_and_look(names); }));
        if (!names.empty()) found.step = static_cast<int64_t>(step_of(names[0]).value_or(0));
    }
    if (Status sent = broadcast(group, found); !sent.ok()) return sent;
    step = found.step;
    return found.status_message.outcome();
}

bool is_damage(const Status &outcome) {
    return outcome.code == RINGRT_CORRUPT || outcome.code == RINGRT_NOT_FOUND;
}

}  // namespace

Status load_newest(Group &group, LocalLevel *local, Store &shared,
                   const std::vector<Buffer> &buffers, Manifest &out, const Pauses &pauses_s) {
    if (!local || !local->is_there()) return load(group, shared, buffers, out, pauses_s);
    std::vector<Buffer> placed;
    RINGRT_TRY(agree_on_parameters(group, buffers, 0, &placed));
    int64_t above = -1;
    std::optional<uint64_t> here;
    if (Status told = shared_newest(group, shared, pauses_s, above); !told.ok()) return told;
    if (Status told = local->newest(here); !told.ok()) return told;
    const bool is_newer = here && static_cast<int64_t>(*here) > above;
    if (is_newer) {
        Status loaded = local->load(buffers, out);
        if (!is_unusable(loaded)) return loaded;
        if (group.rank() == 0)
            log_line("the nodes' own checkpoint cannot be used (" + loaded.message +
                     "): using the shared one");
    }
    Status loaded = load(group, shared, buffers, out, pauses_s);
    const bool is_worse = is_damage(loaded) || (loaded.ok() && here && out.step < *here);
    if (!here || is_newer || !is_worse) return loaded;
    // The newest shared checkpoint was damaged, and the next is older than the nodes' own.
    Status instead = local->load(buffers, out);
    if (!is_unusable(instead)) return instead;
    return loaded.ok() ? load(group, shared, buffers, out, pauses_s) : loaded;
}

}  // namespace ringrt::checkpoint
