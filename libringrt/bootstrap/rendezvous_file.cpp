// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/rendezvous_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

namespace ringrt {
namespace {

constexpr std::string_view kHeader = "ringrt-rendezvous/1";
constexpr size_t kBytesMax = 4096, kAddressesMax = 32;

bool is_address(std::string_view text) {
    constexpr std::string_view kAllowed = "0123456789abcdefABCDEF.:";
    return !text.empty() && text.size() < 64 && text.find_first_not_of(kAllowed) == text.npos;
}

void list_directory(const std::string &path) {
    std::string directory = std::filesystem::path(path).parent_path().string();
    DIR *listing = opendir(directory.empty() ? "." : directory.c_str());
    if (listing == nullptr) return;
    while (readdir(listing) != nullptr) {
    }
    closedir(listing);
}

Status failed(const char *what, const std::string &path) {
    return {RINGRT_SYSTEM_ERROR,
            format_text("cannot %s rendezvous file %s: %s; all ranks must share "
                        "this directory",
                        what, path.c_str(), strerror(errno))};
}

}  // namespace

std::string format_rendezvous(const Rendezvous &rendezvous) {
    std::string text = std::string(kHeader) + "\nsecret=" + to_hex(rendezvous.secret) +
                       "\nport=" + std::to_string(rendezvous.endpoint.port) + "\n";
    for (const std::string &address : rendezvous.endpoint.addresses) {
        text += "address=" + address + "\n";
    }
    return text;
}

std::optional<Rendezvous> parse_rendezvous(std::string_view text) {
    if (text.size() > kBytesMax || text.empty() || text.back() != '\n') return {};
    Rendezvous out;
    bool secret_seen = false;
    for (size_t line_number = 0; !text.empty(); ++line_number) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size() + 1);
        if (line_number == 0) {
            if (line != kHeader) return {};
        } else if (line.starts_with("secret=") && !secret_seen) {
            if (!from_hex(line.substr(7), out.secret)) return {};
            secret_seen = true;
        } else if (line.starts_with("port=") && out.endpoint.port == 0) {
            const char *end = line.data() + line.size();
            auto [rest, error] = std::from_chars(line.data() + 5, end, out.endpoint.port);
            if (error != std::errc() || rest != end) return {};
        } else if (line.starts_with("address=") && is_address(line.substr(8)) &&
                   out.endpoint.addresses.size() < kAddressesMax) {
            out.endpoint.addresses.emplace_back(line.substr(8));
        } else {
            return {};
        }
    }
    bool whole = secret_seen && out.endpoint.port > 0 && out.endpoint.port < 65536 &&
                 !out.endpoint.addresses.empty();
    return whole ? std::optional(out) : std::nullopt;
}

Status write_rendezvous(const std::string &path, const Rendezvous &rendezvous) {
    std::string aside = path + ".tmp" + std::to_string(getpid());
    std::string text = format_rendezvous(rendezvous);
    unlink(aside.c_str());
    Fd fd(open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return failed("create", aside);
    bool written = write(fd.get(), text.data(), text.size()) == ssize_t(text.size()) &&
                   fsync(fd.get()) == 0 && rename(aside.c_str(), path.c_str()) == 0;
    if (written) return {};
    Status status = failed("write", path);
    unlink(aside.c_str());
    return status;
}

Status read_rendezvous(const std::string &path, std::optional<Rendezvous> *out) {
    out->reset();
    list_directory(path);
    // Non-blocking, in case the path is a pipe without a writer.
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd.valid()) {
        // Rank 0 may create the directory later.
        return errno == ENOENT || errno == ESTALE ? Status{} : failed("open", path);
    }
    struct stat info;
    if (fstat(fd.get(), &info) != 0) return errno == ESTALE ? Status{} : failed("examine", path);
    if (info.st_uid != geteuid() || (info.st_mode & 077) != 0 || !S_ISREG(info.st_mode)) {
        return {
            RINGRT_SYSTEM_ERROR,
            format_text("rendezvous file %s must belong to this user alone (mode 0600): remove it",
                        path.c_str())};
    }
    char text[kBytesMax + 1];
    ssize_t bytes = read(fd.get(), text, sizeof text);
    if (bytes < 0) return errno == ESTALE ? Status{} : failed("read", path);
    *out = parse_rendezvous({text, size_t(bytes)});
    if (!*out) {
        return {RINGRT_SYSTEM_ERROR,
                format_text("rendezvous file %s is not a rendezvous file of ringrt: remove it",
                            path.c_str())};
    }
    return {};
}

}  // namespace ringrt
