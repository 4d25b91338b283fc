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
#include "libringrt/bootstrap/rendezvous_file.h"

namespace ringrt {
namespace {

constexpr int kPollMs = 50;

// Lists ranks as in "1, 3-5 and 9 more".
std::string list_ranks(const std::vector<int> &ranks) {
    std::string text;
    size_t shown = 0, i = 0;
    while (i < ranks.size() && shown < 8) {
        size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (!text.empty()) text += ", ";
        text += std::to_string(ranks[i]);
        if (last > i) text += "-" + std::to_string(ranks[last]);
        i = last + 1;
        ++shown;
    }
    if (i < ranks.size()) text += " and " + std::to_string(ranks.size() - i) + " more";
    return text;
}

class RootBootstrap : public Bootstrap {
  public:
    RootBootstrap(const RankContext &self, Deadline *deadline) : self_(self), deadline_(deadline) {}
    Status open_as_hub(Fd listener, const Secret &secret);
    Status open_as_member(Fd hub, const Secret &secret);
    Status exchange(std::span<const std::byte> mine, std::vector<std::byte> *all) override;

  private:
    const RankContext &self_;
    Deadline *deadline_;
    std::vector<Fd> members_;  // by rank, at rank 0
    Fd hub_;                   // at the other ranks
};

Status RootBootstrap::open_as_hub(Fd listener, const Secret &secret) {
    secret_ = secret;
    members_.resize(size_t(self_.size));
    Acceptor acceptor(std::move(listener), secret, Purpose::Start, self_);
    for (;;) {
        std::vector<int> missing;
        for (int r = 1; r < self_.size; ++r) {
            if (!members_[size_t(r)].valid()) missing.push_back(r);
        }
        if (missing.empty()) return {};
        Status status = deadline_->check(missing.front());
        if (status.code == RINGRT_TIMEOUT) {
            status.message = format_text(
                "rank 0: rank%s %s of %d did not connect within %.0f s of start-up; "
                "were all started, and do they share the rendezvous directory?",
                missing.size() > 1 ? "s" : "", list_ranks(missing).c_str(), self_.size,
                double(deadline_->waited_ms()) / 1e3);
        }
        RINGRT_TRY(std::move(status));
        std::vector<Acceptor::Accepted> arrivals;
        RINGRT_TRY(acceptor.serve(kPollMs, &arrivals));
        for (auto &[rank, fd] : arrivals) members_[size_t(rank)] = std::move(fd);
    }
}

Status RootBootstrap::open_as_member(Fd hub, const Secret &secret) {
    secret_ = secret;
    hub_ = std::move(hub);
    return {};
}

Status RootBootstrap::exchange(std::span<const std::byte> mine, std::vector<std::byte> *all) {
    size_t each = mine.size(), size = size_t(self_.size);
    all->assign(each * size, std::byte{});
    std::copy(mine.begin(), mine.end(), all->begin() + ptrdiff_t(each * size_t(self_.rank)));
    if (self_.rank != 0) {
        RINGRT_TRY(write_all(hub_.get(), mine, deadline_, 0));
        return read_all(hub_.get(), *all, deadline_, 0);
    }
    for (size_t r = 1; r < size; ++r) {
        std::span place(all->data() + each * r, each);
        RINGRT_TRY(read_all(members_[r].get(), place, deadline_, int(r)));
    }
    for (size_t r = 1; r < size; ++r) {
        RINGRT_TRY(write_all(members_[r].get(), *all, deadline_, int(r)));
    }
    return {};
}

class Callback : public Bootstrap {
  public:
    Callback(const RankContext &self, ringrt_allgather_fn allgather, void *context)
        : self_(self), allgather_(allgather), context_(context) {}

    Status open() {
        Secret mine{};
        RINGRT_TRY(make_random(mine));
        std::vector<std::byte> all;
        RINGRT_TRY(exchange(mine, &all));
        std::copy_n(all.begin(), secret_.size(), secret_.begin());  // rank 0's
        return {};
    }

    Status exchange(std::span<const std::byte> mine, std::vector<std::byte> *all) override {
        all->assign(mine.size() * size_t(self_.size), std::byte{});
        int code = allgather_(context_, mine.data(), all->data(), mine.size());
        if (code == 0) return {};
        return {RINGRT_SYSTEM_ERROR,
                format_text("rank %d: the caller's allgather failed with %d", self_.rank, code)};
    }

  private:
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
Status host_by_file(const std::string &path, RootBootstrap *star) {
    Rendezvous rendezvous;
    Fd listener;
    RINGRT_TRY(listen_as_hub(&rendezvous, &listener));
    std::error_code ignored;
    std::filesystem::path directory = std::filesystem::path(path).parent_path();
    if (!directory.empty()) std::filesystem::create_directories(directory, ignored);
    RINGRT_TRY(write_rendezvous(path, rendezvous));
    Status status = star->open_as_hub(std::move(listener), rendezvous.secret);
    unlink(path.c_str());
    return status;
}

// Other ranks: retry until rank 0 answers. A stale file of an earlier run leads nowhere, so the
// file is read again each time.
Status join(const RankContext &self, const std::string &path, std::optional<Rendezvous> found,
            Deadline *deadline, RootBootstrap *star) {
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
            if (last.ok()) return star->open_as_member(std::move(fd), found->secret);
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

Status host_by_store(const TextStore &store, RootBootstrap *star) {
    Rendezvous rendezvous;
    Fd listener;
    RINGRT_TRY(listen_as_hub(&rendezvous, &listener));
    RINGRT_TRY(store.put(one_word(rendezvous)));
    return star->open_as_hub(std::move(listener), rendezvous.secret);
}

Status join_by_store(const RankContext &self, const TextStore &store, Deadline *deadline,
                     RootBootstrap *star) {
    std::string text;
    RINGRT_TRY(store.get(uint32_t(std::max(deadline->left_ms(), int64_t{1})), &text));
    std::replace(text.begin(), text.end(), ',', '\n');
    std::optional<Rendezvous> found = parse_rendezvous(text);
    if (!found)
        return {
            RINGRT_SYSTEM_ERROR,
            format_text("rank %d: the store's value is not the one that rank 0 wrote", self.rank)};
    return join(self, "the store", std::move(found), deadline, star);
}

}  // namespace

Status open_bootstrap(const RankContext &self, const TextStore &store, Deadline *deadline,
                      std::unique_ptr<Bootstrap> *out) {
    auto star = std::make_unique<RootBootstrap>(self, deadline);
    RINGRT_TRY(self.rank == 0 ? host_by_store(store, star.get())
                              : join_by_store(self, store, deadline, star.get()));
    *out = std::move(star);
    return {};
}

Status open_bootstrap(const RankContext &self, const std::string &where, Deadline *deadline,
                      std::unique_ptr<Bootstrap> *out) {
    auto star = std::make_unique<RootBootstrap>(self, deadline);
    Status status;
    if (where.starts_with("tcp:")) {
        Rendezvous rendezvous;
        RINGRT_TRY(parse_tcp(where, &rendezvous));
        if (self.rank == 0) {
            Fd listener;
            RINGRT_TRY(listen_on(&rendezvous.endpoint.port, &listener));
            status = star->open_as_hub(std::move(listener), rendezvous.secret);
        } else {
            status = join(self, where, rendezvous, deadline, star.get());
        }
    } else if (self.rank == 0) {
        status = host_by_file(where, star.get());
    } else {
        status = join(self, where, {}, deadline, star.get());
    }
    if (status.ok()) *out = std::move(star);
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
