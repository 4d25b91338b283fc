// SPDX-License-Identifier: BSD-3-Clause
// A file system in memory that tracks what is durable. A machine crash keeps the synced content of
// files and the synced entries of directories, and a random part of the rest. Every operation can
// be made to fail, or be the one at which the process dies.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "libringrt/checkpoint/files.h"

namespace ringrt::test {

struct Crash : std::runtime_error {
    Crash() : std::runtime_error("the process died here") {}
};

class MemoryFiles final : public checkpoint::Files {
  public:
    struct Node;
    using Link = std::shared_ptr<Node>;
    using Entries = std::map<std::string, Link>;
    struct Node {
        bool directory = false;
        std::vector<std::byte> data, durable_data;
        Entries entries;
        std::vector<Entries> history = {Entries{}};  // states since the last sync, oldest first
    };

    // ---- faults ----
    int64_t operations = 0;  // so far
    std::function<int(int64_t, const char *)>
        fault;  // (number, name): returns 0 or an errno; may throw Crash
    std::function<void(size_t)> before_read;  // gets the number of bytes; may wait
    size_t write_max = SIZE_MAX;              // longer writes and reads are cut short
    int64_t free_space = int64_t{1} << 40;

    // ---- crashes of the machine ----
    enum class Loss { nothing, unsynced, random };
    void crash(Loss loss, std::mt19937_64 &random) {
        if (loss == Loss::nothing) return;
        lose(*root_, loss, random);
        open_.clear();
    }

    // ---- what tests read ----
    Link find(const std::string &path) const {
        Link node = root_;
        for (size_t at = 0; node && at < path.size();) {
            size_t slash = std::min(path.find('/', at), path.size());
            std::string name = path.substr(at, slash - at);
            at = slash + 1;
            if (name.empty()) continue;
            auto found = node->entries.find(name);
            node = found == node->entries.end() ? nullptr : found->second;
        }
        return node;
    }
    std::vector<std::byte> &data(const std::string &path) {
        Link node = find(path);
        if (!node) throw std::runtime_error("no file " + path);
        return node->data;
    }
    // The paths of all files under `path`.
    std::vector<std::string> files_under(const std::string &path) const {
        std::vector<std::string> out;
        Link node = find(path);
        if (!node) return out;
        for (auto &[name, child] : node->entries) {
            std::string whole = path + "/" + name;
            std::vector<std::string> deeper =
                child->directory ? files_under(whole) : std::vector<std::string>{whole};
            out.insert(out.end(), deeper.begin(), deeper.end());
        }
        return out;
    }
    uint64_t bytes_under(const std::string &path) {
        uint64_t bytes = 0;
        for (const std::string &file : files_under(path)) bytes += data(file).size();
        return bytes;
    }
    void put(const std::string &path, const std::string &text) {
        auto [directory, name] = split(path);
        auto node = std::make_shared<Node>();
        auto bytes = std::as_bytes(std::span(text));
        node->data.assign(bytes.begin(), bytes.end());
        node->durable_data = node->data;
        directory->entries[name] = node;
        directory->history = {directory->entries};
    }
    // Makes a copy that shares nothing with this one.
    void copy_from(const MemoryFiles &other) {
        std::map<const Node *, Link> done;
        root_ = clone(*other.root_, done);
        open_.clear();
    }

    // ---- Files ----
    int open_new(const std::string &path) override {
        std::lock_guard lock(mutex_);
        if (int e = count("open_new")) return -e;
        auto [directory, name] = split(path);
        if (!directory) return -ENOENT;
        if (directory->entries.contains(name)) return -EEXIST;
        auto node = std::make_shared<Node>();
        change(*directory, [&](Entries &entries) { entries[name] = node; });
        return opened(node);
    }
    int open_read(const std::string &path) override {
        std::lock_guard lock(mutex_);
        if (int e = count("open_read")) return -e;
        Link node = find(path);
        if (!node) return -ENOENT;
        return node->directory ? -EISDIR : opened(node);
    }
    int64_t write(int fd, std::span<const std::byte> bytes) override {
        std::lock_guard lock(mutex_);
        if (int e = count("write")) return -e;
        bytes = bytes.first(std::min(bytes.size(), write_max));
        std::vector<std::byte> &data = open_.at(fd)->data;
        data.insert(data.end(), bytes.begin(), bytes.end());
        return static_cast<int64_t>(bytes.size());
    }
    int64_t read_at(int fd, std::span<std::byte> bytes, uint64_t offset) override {
        if (before_read) before_read(bytes.size());
        std::lock_guard lock(mutex_);
        if (int e = count("read")) return -e;
        const std::vector<std::byte> &data = open_.at(fd)->data;
        if (offset >= data.size()) return 0;
        size_t length = std::min({bytes.size(), data.size() - offset, write_max});
        if (length > 0) std::memcpy(bytes.data(), data.data() + offset, length);
        return static_cast<int64_t>(length);
    }
    int64_t size(int fd) override {
        std::lock_guard lock(mutex_);
        return static_cast<int64_t>(open_.at(fd)->data.size());
    }
    int start_writeback(int, uint64_t, uint64_t) override { return 0; }
    int sync_data(int fd) override {
        std::lock_guard lock(mutex_);
        if (int e = count("sync_data")) return -e;
        open_.at(fd)->durable_data = open_.at(fd)->data;
        return 0;
    }
    int close(int fd) override {
        std::lock_guard lock(mutex_);
        open_.erase(fd);  // as Linux does, even if it reports an error
        return -count("close");
    }
    int make_directory(const std::string &path) override {
        std::lock_guard lock(mutex_);
        if (int e = count("make_directory")) return -e;
        auto [directory, name] = split(path);
        if (!directory) return -ENOENT;
        if (directory->entries.contains(name)) return -EEXIST;
        auto node = std::make_shared<Node>();
        node->directory = true;
        change(*directory, [&](Entries &entries) { entries[name] = node; });
        return 0;
    }
    int sync_directory(const std::string &path) override {
        std::lock_guard lock(mutex_);
        if (int e = count("sync_directory")) return -e;
        Link node = find(path);
        if (!node) return -ENOENT;
        node->history = {node->entries};
        return 0;
    }
    int rename(const std::string &from, const std::string &to) override {
        std::lock_guard lock(mutex_);
        if (int e = count("rename")) return -e;
        auto [directory, name] = split(from);
        auto [to_directory, to_name] = split(to);
        if (!directory || !to_directory || !directory->entries.contains(name)) return -ENOENT;
        if (directory != to_directory) return -EXDEV;  // not needed here
        Link moved = directory->entries[name];
        auto target = directory->entries.find(to_name);
        if (target != directory->entries.end() && target->second->directory &&
            !target->second->entries.empty())
            return -ENOTEMPTY;
        change(*directory, [&, n = name, t = to_name](Entries &entries) {
            entries.erase(n);
            entries[t] = moved;
        });
        return 0;
    }
    int remove(const std::string &path) override {
        std::lock_guard lock(mutex_);
        if (int e = count("remove")) return -e;
        return erase(path, false);
    }
    int remove_directory(const std::string &path) override {
        std::lock_guard lock(mutex_);
        if (int e = count("remove_directory")) return -e;
        return erase(path, true);
    }
    int list(const std::string &path, std::vector<std::string> &names) override {
        std::lock_guard lock(mutex_);
        if (int e = count("list")) return -e;
        Link node = find(path);
        if (!node) return -ENOENT;
        names.clear();
        for (auto &[name, child] : node->entries) names.push_back(name);
        return 0;
    }
    int64_t free_bytes(const std::string &) override {
        std::lock_guard lock(mutex_);
        if (int e = count("free_bytes")) return -e;
        return free_space;
    }

  private:
    int count(const char *name) {
        int64_t number = operations++;
        return fault ? fault(number, name) : 0;
    }
    std::pair<Link, std::string> split(const std::string &path) const {
        size_t slash = path.find_last_of('/');
        if (slash == path.npos) return {root_, path};
        Link directory = find(path.substr(0, slash));
        return {directory && directory->directory ? directory : nullptr, path.substr(slash + 1)};
    }
    int opened(const Link &node) {
        open_[next_fd_] = node;
        return next_fd_++;
    }
    void change(Node &directory, const std::function<void(Entries &)> &how) {
        how(directory.entries);
        directory.history.push_back(directory.entries);
    }
    int erase(const std::string &path, bool directory_wanted) {
        auto [directory, name] = split(path);
        if (!directory || !directory->entries.contains(name)) return -ENOENT;
        Link node = directory->entries[name];
        if (node->directory != directory_wanted) return directory_wanted ? -ENOTDIR : -EISDIR;
        if (node->directory && !node->entries.empty()) return -ENOTEMPTY;
        change(*directory, [&, n = name](Entries &entries) { entries.erase(n); });
        return 0;
    }
    static void lose(Node &node, Loss loss, std::mt19937_64 &random) {
        if (node.directory) {
            // A journal keeps the order of changes to a directory: a prefix of them survives.
            size_t kept = loss == Loss::unsynced ? 0 : random() % node.history.size();
            node.entries = node.history[kept];
            node.history = {node.entries};
            for (auto &[name, child] : node.entries) lose(*child, loss, random);
            return;
        }
        if (loss == Loss::random && node.data != node.durable_data) {
            switch (random() % 3) {
                case 0:
                    node.durable_data = node.data;  // the whole content was written
                    return;
                case 1:
                    node.data.resize(random() % (node.data.size() + 1));
                    node.durable_data = node.data;
                    return;
                default:  // the length, but not all of the content
                    for (size_t i = random() % (node.data.size() + 1); i < node.data.size(); ++i)
                        node.data[i] = std::byte{0};
                    node.durable_data = node.data;
                    return;
            }
        }
        node.data = node.durable_data;
    }
    static Link clone(const Node &node, std::map<const Node *, Link> &done) {
        if (auto found = done.find(&node); found != done.end()) return found->second;
        auto copy = std::make_shared<Node>();
        done[&node] = copy;
        copy->directory = node.directory;
        copy->data = node.data;
        copy->durable_data = node.durable_data;
        for (auto &[name, child] : node.entries) copy->entries[name] = clone(*child, done);
        copy->history.clear();
        for (const Entries &state : node.history) {
            Entries cloned;
            for (auto &[name, child] : state) cloned[name] = clone(*child, done);
            copy->history.push_back(std::move(cloned));
        }
        return copy;
    }
    static Link make_root() {
        auto root = std::make_shared<Node>();
        root->directory = true;
        return root;
    }

    mutable std::mutex mutex_;
    Link root_ = make_root();
    std::map<int, Link> open_;
    int next_fd_ = 3;
};

}  // namespace ringrt::test
