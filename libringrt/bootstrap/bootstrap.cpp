// SPDX-License-Identifier: BSD-3-Clause
// Bootstraps: connections of all ranks to rank 0, and the caller's allgather.
#include "libringrt/bootstrap/bootstrap.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "libringrt/bootstrap/handshake.h"
#include "libringrt/bootstrap/rank_tree.h"
#include "libringrt/bootstrap/rendezvous_file.h"

namespace ringrt {
namespace {

constexpr int kPollMs = 50;

class Callback : public Bootstrap {
  public:
    Callback(const RankContext &self, ringrt_allgather_fn allgather, void *context)
        : self_(self), allgather_(allgather), context_(context) {}

    Status open() {
        Secret mine{};
        RINGRT_TRY(make_random(mine));
        std::vector<std::byte> all;
        RINGRT_TRY(gather(mine, &all));
        std::copy_n(all.begin(), secret_.size(), secret_.begin());  // rank 0's
        return {};
    }

    Status spread(std::span<const std::byte> mine, const Merge &merge,
                  std::vector<std::byte> *merged) override {
        std::vector<std::byte> all;
        RINGRT_TRY(gather(mine, &all));
        *merged = merge(all);
        return {};
    }

  private:
    Status gather(std::span<const std::byte> mine, std::vector<std::byte> *all) {
        all->assign(mine.size() * size_t(self_.size), std::byte{});
        int code = allgather_(context_, mine.data(), all->data(), mine.size());
        if (code == 0) return {};
        return {RINGRT_SYSTEM_ERROR,
                format_text("rank %d: the caller's allgather failed with %d", self_.rank, code)};
    }

    const RankContext &self_;
    ringrt_allgather_fn allgather_;
    void *context_;
};

Status parse_tcp(const std::string &where, Rendezvous *out) {
    size_t colon = where.rfind(':');
    std::string host = where.substr(4, colon > 4 ? colon - 4 : 0);
    const char *end = where.data() + where.size();
    auto [rest, error] = std::from_chars(where.data() + colon + 1, end, out->endpoint.port);
    bool port_sound =
        error == std::errc() && rest == end && out->endpoint.port > 0 && out->endpoint.port < 65536;
    if (colon <= 4 || !port_sound) {
        return {RINGRT_INVALID_ARGUMENT,
                format_text("rendezvous: expected tcp:HOST:PORT (for example "
                            "tcp:node1:29500), got \"%s\"",
                            where.c_str())};
    }
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    out->endpoint.addresses = {host};
    const char *secret = getenv("RINGRT_SECRET");
    if (secret != nullptr && from_hex(secret, out->secret)) return {};
    return {
        RINGRT_INVALID_ARGUMENT,
        "rendezvous: tcp:HOST:PORT needs RINGRT_SECRET, 32 hexadecimal digits, the same for all "
        "ranks (for example from: openssl rand -hex 16)"};
}

Status listen_as_hub(Rendezvous *rendezvous, Fd *listener) {
    RINGRT_TRY(make_random(rendezvous->secret));
    RINGRT_TRY(listen_on(&rendezvous->endpoint.port, listener));
    rendezvous->endpoint.addresses = own_addresses();
    return {};
}

// Rank 0, rendezvous by file: creates the directory, listens, writes the file, and removes it at
// the end.
Status host_by_file(const std::string &path, RankTree *tree) {
    Rendezvous rendezvous;
    Fd listener;
    RINGRT_TRY(listen_as_hub(&rendezvous, &listener));
    std::error_code ignored;
    std::filesystem::path directory = std::filesystem::path(path).parent_path();
    if (!directory.empty()) std::filesystem::create_directories(directory, ignored);
    RINGRT_TRY(write_rendezvous(path, rendezvous));
    Status status = tree->open_as_hub(std::move(listener), rendezvous.secret);
    unlink(path.c_str());
    return status;
}

// Other ranks: retry until rank 0 answers. A stale file of an earlier run leads nowhere, so the
// file is read again each time.
Status join(const RankContext &self, const std::string &path, std::optional<Rendezvous> found,
            Deadline *deadline, RankTree *tree) {
    bool by_file = !found;
    Status last{RINGRT_TIMEOUT, ""};
    for (;;) {
        Status status = deadline->check(0);
        if (status.code == RINGRT_TIMEOUT) {
            status.message =
                format_text("rank %d: rank 0 was not reached within %.0f s of start-up at %s%s%s",
                            self.rank, double(deadline->waited_ms()) / 1e3, path.c_str(),
                            last.message.empty() ? "; is it started, and is the directory shared?"
                                                 : "; last try: ",
                            last.message.c_str());
        }
        RINGRT_TRY(std::move(status));
        if (by_file) {
            Status read = read_rendezvous(path, &found);
            if (!read.ok()) last = std::move(read);
        }
        if (found) {
            Fd fd;
            last = connect_to(found->endpoint, deadline, 0, &fd);
            if (last.ok())
                last = connect_handshake(fd.get(), found->secret, Purpose::Start, self, 0);
            if (last.ok()) return tree->open_as_member(std::move(fd), found->secret);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
    }
}

// The file's text as one word, for stores of strings, with as many addresses as fit.
std::string one_word(Rendezvous rendezvous) {
    std::string text = format_rendezvous(rendezvous);
    for (; text.size() >= RINGRT_STORE_VALUE_BYTES; text = format_rendezvous(rendezvous))
        rendezvous.endpoint.addresses.pop_back();
    std::replace(text.begin(), text.end(), '\n', ',');
    return text;
}

Status host_by_store(const TextStore &store, RankTree *tree) {
    Rendezvous rendezvous;
    Fd listener;
    RINGRT_TRY(listen_as_hub(&rendezvous, &listener));
    RINGRT_TRY(store.put(one_word(rendezvous)));
    return tree->open_as_hub(std::move(listener), rendezvous.secret);
}

Status join_by_store(const RankContext &self, const TextStore &store, Deadline *deadline,
                     RankTree *tree) {
    std::string text;
    RINGRT_TRY(store.get(uint32_t(std::max(deadline->left_ms(), int64_t{1})), &text));
    std::replace(text.begin(), text.end(), ',', '\n');
    std::optional<Rendezvous> found = parse_rendezvous(text);
    if (!found)
        return {
            RINGRT_SYSTEM_ERROR,
            format_text("rank %d: the store's value is not the one that rank 0 wrote", self.rank)};
    return join(self, "the store", std::move(found), deadline, tree);
}

}  // namespace

Status open_bootstrap(const RankContext &self, const TextStore &store, Deadline *deadline,
                      std::unique_ptr<Bootstrap> *out) {
    auto tree = std::make_unique<RankTree>(self, deadline);
    RINGRT_TRY(self.rank == 0 ? host_by_store(store, tree.get())
                              : join_by_store(self, store, deadline, tree.get()));
    *out = std::move(tree);
    return {};
}

Status open_bootstrap(const RankContext &self, const std::string &where, Deadline *deadline,
                      std::unique_ptr<Bootstrap> *out) {
    auto tree = std::make_unique<RankTree>(self, deadline);
    Status status;
    if (where.starts_with("tcp:")) {
        Rendezvous rendezvous;
        RINGRT_TRY(parse_tcp(where, &rendezvous));
        if (self.rank == 0) {
            Fd listener;
            RINGRT_TRY(listen_on(&rendezvous.endpoint.port, &listener));
            status = tree->open_as_hub(std::move(listener), rendezvous.secret);
        } else {
            status = join(self, where, rendezvous, deadline, tree.get());
        }
    } else if (self.rank == 0) {
        status = host_by_file(where, tree.get());
    } else {
        status = join(self, where, {}, deadline, tree.get());
    }
    if (status.ok()) *out = std::move(tree);
    return status;
}

Status open_bootstrap(const RankContext &self, ringrt_allgather_fn allgather, void *context,
                      std::unique_ptr<Bootstrap> *out) {
    auto callback = std::make_unique<Callback>(self, allgather, context);
    RINGRT_TRY(callback->open());
    *out = std::move(callback);
    return {};
}

}  // namespace ringrt
