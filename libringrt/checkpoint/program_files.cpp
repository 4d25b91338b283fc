// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/program_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libringrt/checkpoint/hash.h"
#include "libringrt/checkpoint/shard.h"
#include "libringrt/checkpoint/store.h"

namespace ringrt::checkpoint {
namespace {

constexpr size_t kErrorBytes = 200;  // of the program's line: what a rank can send to the others
constexpr size_t kReadBytes = 4 << 20;

bool call(ringrt_checkpoint_saver_fn function, void *context, const std::string &directory,
          uint64_t step, std::string &why) {
    return run_callback(
        [&](char *error, size_t bytes) {
            return function(context, directory.c_str(), step, error, bytes);
        },
        why);
}

Status no_plain_file(const std::string &path) {
    return {RINGRT_CHECKPOINT_FAILED, "checkpoint failed: " + path +
                                          " is no plain file: the program's save may make "
                                          "files only, named by [A-Za-z0-9._-]"};
}

// XXH64 over the XXH64 of each part: a file may be larger than memory.
int hash_file(Files &files, int fd, uint64_t bytes, uint64_t &hash) {
    std::vector<std::byte> part(std::min<uint64_t>(bytes, kReadBytes));
    std::vector<uint64_t> hashes;
    for (uint64_t at = 0; at < bytes; at += part.size()) {
        const auto now = std::span(part).first(std::min<uint64_t>(part.size(), bytes - at));
        if (int result = read_all(files, fd, now, at); result < 0) return result;
        hashes.push_back(hash64(now));
    }
    hash = hash64(std::as_bytes(std::span(hashes)));
    return 0;
}

int describe(Files &files, const std::string &path, ProgramFile &out) {
    const int fd = files.open_read(path);
    if (fd < 0) return fd;
    const int64_t size = files.size(fd);
    int result = size < 0 ? static_cast<int>(size) : 0;
    out.bytes = size < 0 ? 0 : static_cast<uint64_t>(size);
    if (result == 0) result = hash_file(files, fd, out.bytes, out.hash);
    files.close(fd);
    return result;
}

int sync_file(Files &files, const std::string &path) {
    const int fd = files.open_read(path);
    if (fd < 0) return fd;
    const int result = files.sync_data(fd);
    files.close(fd);
    return result;
}

int list_names(Files &files, const std::string &directory, std::vector<std::string> &names) {
    const int result = files.list(directory, names);
    std::erase_if(names, [](const std::string &name) { return is_reserved_name(name); });
    std::ranges::sort(names);
    return result;
}

}  // namespace

bool run_callback(const std::function<int(char *error, size_t bytes)> &callback, std::string &why) {
    char error[kErrorBytes] = {};
    const int result = callback(error, sizeof error);
    if (result == 0) return true;
    why.assign(error, strnlen(error, sizeof error));
    std::ranges::replace(why, '\n', ' ');
    if (why.empty()) why = format_text("it returned %d and no error line", result);
    return false;
}

// Other ranks may still be writing: some files are synced twice, but every file is synced.
Status write_program_files(Files &files, const ProgramSaver &saver, const std::string &directory,
                           uint64_t step) {
    std::string why;
    if (!call(saver.save, saver.context, directory, step, why))
        return {RINGRT_CHECKPOINT_FAILED, "checkpoint failed: the program could not save: " + why};
    std::vector<std::string> names;
    if (int result = list_names(files, directory, names); result < 0)
        return write_failure(result, directory);
    for (const std::string &name : names) {
        const int result = sync_file(files, directory + "/" + name);
        if (result == -ENOENT) continue;  // another rank renamed it meanwhile
        if (result < 0) return write_failure(result, directory + "/" + name);
    }
    return {};
}

Status list_program_files(Files &files, const std::string &directory,
                          std::vector<ProgramFile> &out) {
    std::vector<std::string> names;
    if (int result = list_names(files, directory, names); result < 0)
        return write_failure(result, directory);
    if (names.empty())
        return {RINGRT_CHECKPOINT_FAILED,
                "checkpoint failed: the program's save wrote no file into " + directory};
    if (names.size() > kProgramFilesMax)
        return {RINGRT_CHECKPOINT_FAILED,
                format_text("checkpoint failed: the program's save wrote %zu files, at most %zu "
                            "may be in a checkpoint",
                            names.size(), kProgramFilesMax)};
    for (const std::string &name : names) {
        ProgramFile file{.name = name};
        const std::string path = directory + "/" + name;
        if (!valid_file_name(name)) return no_plain_file(path);
        const int result = describe(files, path, file);
        if (result == -EINVAL) return no_plain_file(path);
        if (result < 0) return write_failure(result, path);
        out.push_back(std::move(file));
    }
    return {};
}

Status verify_program_files(Files &files, const std::string &directory,
                            const std::vector<ProgramFile> &expected) {
    for (const ProgramFile &file : expected) {
        ProgramFile found;
        if (int result = describe(files, directory + "/" + file.name, found); result < 0)
            return read_failure(result, file.name);
        if (found.bytes != file.bytes || found.hash != file.hash)
            return {RINGRT_CORRUPT, file.name + ": not what was written"};
    }
    return {};
}

Status load_program_files(Group &group, const ProgramSaver &saver, const Store &store,
                          const Manifest &manifest) {
    struct {
        char name[80] = {};
    } from;
    if (group.rank() == 0) store.started_from().copy(from.name, sizeof from.name - 1);
    if (Status sent = broadcast(group, from); !sent.ok()) return sent;
    const std::string directory = store.directory() + "/" + from.name;
    Status mine;
    std::string why;
    if (!manifest.files.empty() && !saver)
        mine = {RINGRT_MISMATCH,
                "the checkpoint holds files of the program's: call ringrt_set_saver() first"};
    else if (manifest.files.empty() && saver)
        mine = {RINGRT_MISMATCH, "the checkpoint holds no files for ringrt_set_saver()'s load"};
    else if (saver && !call(saver.load, saver.context, directory, manifest.step, why))
        mine = {RINGRT_SYSTEM_ERROR, "the program could not load " + directory + ": " + why};
    return agree(group, mine);
}

}  // namespace ringrt::checkpoint
