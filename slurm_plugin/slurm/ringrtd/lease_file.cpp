// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/ringrtd/lease_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

namespace ringrt::slurm {
namespace {

constexpr std::string_view kPrefix = "ringrtd.lease.";
constexpr std::string_view kMarker = "ringrtd-lease/1";
constexpr uint64_t kNumberMax = 1'000'000'000'000;  // a larger number is not a lease

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> out;
    for (std::size_t end = 0; end != std::string_view::npos;) {
        end = text.find(separator);
        out.push_back(text.substr(0, end));
        text.remove_prefix(std::min(text.size(), end == std::string_view::npos ? end : end + 1));
    }
    return out;
}

std::string first_word(const char *path) {
    std::ifstream in(path);
    std::string word;
    in >> word;
    return word;
}

// Field 22 of /proc/PID/stat. The name before it may contain any character.
std::string start_of(const std::string &pid) {
    std::ifstream in("/proc/" + pid + "/stat");
    const std::string stat{std::istreambuf_iterator<char>(in), {}};
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) return {};
    const auto fields = split(std::string_view(stat).substr(name_end + 1), ' ');
    return fields.size() > 20 ? std::string(fields[20]) : std::string();
}

std::string process_space() {
    struct stat status {};
    return stat("/proc/self/ns/pid", &status) == 0 ? std::to_string(status.st_ino) : "0";
}

std::string boot() { return first_word("/proc/sys/kernel/random/boot_id"); }

struct HolderParts {
    std::string host, pid, start, boot, space;
};

std::optional<HolderParts> parts_of(const std::string &holder) {
    const auto parts = split(holder, ':');
    if (parts.size() != 5 || !number_in<int>(parts[1])) return std::nullopt;
    return HolderParts{std::string(parts[0]), std::string(parts[1]), std::string(parts[2]),
                       std::string(parts[3]), std::string(parts[4])};
}

std::string until_text(double seconds_from_now) {
    const std::time_t until = std::time(nullptr) + static_cast<std::time_t>(seconds_from_now);
    std::tm parts{};
    char text[32] = "";
    if (gmtime_r(&until, &parts) != nullptr) std::strftime(text, sizeof text, "%FT%TZ", &parts);
    return text;
}

// A regular file of bounded size; otherwise nothing.
std::optional<std::string> bounded_file(const std::string &path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return std::nullopt;
    struct stat status {};
    std::array<char, kLeaseBytesMax> bytes{};
    ssize_t length = -1;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        length = read(file, bytes.data(), bytes.size());
    close(file);
    if (length < 0) return std::nullopt;
    return std::string(bytes.data(), static_cast<std::size_t>(length));
}

}  // namespace

std::string this_process() {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    std::string name(host.data());
    std::ranges::replace_if(
        name, [](unsigned char c) { return c <= ' ' || c > '~' || c == ':' || c == '='; }, '_');
    const std::string pid = std::to_string(getpid());
    return name + ':' + pid + ':' + start_of(pid) + ':' + boot() + ':' + process_space();
}

bool is_dead(const std::string &holder) {
    const auto parts = parts_of(holder);
    if (!parts || parts->boot.empty() || parts->boot != boot() || parts->space != process_space())
        return false;
    const auto pid = static_cast<pid_t>(*number_in<int>(parts->pid));
    if (pid <= 0) return false;
    if (kill(pid, 0) != 0 && errno == ESRCH) return true;
    const std::string start = start_of(parts->pid);
    return !start.empty() && !parts->start.empty() && start != parts->start;
}

std::string name_of(const std::string &holder) {
    const auto parts = parts_of(holder);
    return parts ? "ringrtd on " + parts->host + " (pid " + parts->pid + ")" : "another ringrtd";
}

std::string format_lease(const LeaseRecord &record, std::string_view until) {
    char takeover[32];
    std::snprintf(takeover, sizeof takeover, "%.3f", record.takeover_s);
    return std::string(kMarker) + " holder=" + record.holder +
           " beat=" + std::to_string(record.beat) + " takeover_s=" + takeover +
           " until=" + std::string(until) + " state=" + (record.released ? "released" : "held") +
           "\n";
}

std::optional<LeaseRecord> parse_lease(std::string_view text) {
    if (text.size() >= kLeaseBytesMax || !text.ends_with('\n')) return std::nullopt;
    text.remove_suffix(1);
    const auto words = split(text, ' ');
    if (words.size() != 6 || words[0] != kMarker) return std::nullopt;
    constexpr std::array<std::string_view, 5> kKeys{
        "holder=", "beat=", "takeover_s=", "until=", "state="};
    std::array<std::string_view, 5> values;
    for (std::size_t i = 0; i < kKeys.size(); ++i) {
        if (!words[i + 1].starts_with(kKeys[i])) return std::nullopt;
        values[i] = words[i + 1].substr(kKeys[i].size());
    }
    const auto beat = number_in<uint64_t>(values[1]);
    const auto takeover_s = number_in<double>(values[2]);
    const bool known = values[4] == "held" || values[4] == "released";
    if (values[0].empty() || !beat || !takeover_s || !known) return std::nullopt;
    if (!(*takeover_s >= 0 && *takeover_s <= 86400)) return std::nullopt;
    return LeaseRecord{.holder = std::string(values[0]),
                       .beat = *beat,
                       .takeover_s = *takeover_s,
                       .released = values[4] == "released"};
}

std::string LeaseFile::path_of(uint64_t number) const {
    return directory_ + "/" + std::string(kPrefix) + std::to_string(number);
}

// A file that vanishes between the listing and the read was an old one. It then counts as
// unreadable, and the next look shows the newest.
LeaseSeen LeaseFile::look() const {
    const std::unique_ptr<DIR, int (*)(DIR *)> dir(opendir(directory_.c_str()), closedir);
    LeaseSeen seen;
    if (!dir) {
        error_ = "cannot list " + directory_ + ": " + std::strerror(errno);
        seen.failed = true;
        return seen;
    }
    errno = 0;
    while (const dirent *entry = readdir(dir.get())) {
        const std::string_view name = entry->d_name;
        if (!name.starts_with(kPrefix)) continue;
        const auto number = number_in<uint64_t>(name.substr(kPrefix.size()));
        if (number && *number <= kNumberMax) seen.number = std::max(seen.number, *number);
    }
    if (errno != 0) {
        error_ = "cannot list " + directory_ + ": " + std::strerror(errno);
        seen.failed = true;
        return seen;
    }
    if (seen.number == 0) return seen;
    if (const auto text = bounded_file(path_of(seen.number))) seen.record = parse_lease(*text);
    seen.holder_is_dead = seen.record && is_dead(seen.record->holder);
    return seen;
}

bool LeaseFile::write_fresh(const LeaseRecord &record, std::string &path) {
    const auto parts = parts_of(record.holder);
    path = directory_ + "/ringrtd.fresh." + (parts ? parts->host + "." + parts->pid : "0");
    const std::string text = format_lease(record, until_text(record.takeover_s));
    const int file =
        open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file >= 0) {
        const bool whole =
            write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
            fsync(file) == 0;
        if (close(file) == 0 && whole) return true;
    }
    error_ = "cannot write " + path + ": " + std::strerror(errno);
    if (file >= 0) unlink(path.c_str());
    return false;
}

// Over NFS, the answer may be lost although the link was made: the file then has two names.
LeaseWrite LeaseFile::create(uint64_t number, const LeaseRecord &record) {
    std::string fresh;
    if (!write_fresh(record, fresh)) return LeaseWrite::failed;
    const bool linked = link(fresh.c_str(), path_of(number).c_str()) == 0;
    const int why = errno;
    struct stat status {};
    const bool is_there = linked || (stat(fresh.c_str(), &status) == 0 && status.st_nlink == 2);
    unlink(fresh.c_str());
    if (is_there) {
        remove_old(number);
        return LeaseWrite::done;
    }
    error_ = "cannot create " + path_of(number) + ": " + std::strerror(why);
    return why == EEXIST ? LeaseWrite::exists : LeaseWrite::failed;
}

LeaseWrite LeaseFile::renew(uint64_t number, const LeaseRecord &record) {
    std::string fresh;
    if (!write_fresh(record, fresh)) return LeaseWrite::failed;
    if (rename(fresh.c_str(), path_of(number).c_str()) == 0) return LeaseWrite::done;
    error_ = "cannot renew " + path_of(number) + ": " + std::strerror(errno);
    unlink(fresh.c_str());
    return LeaseWrite::failed;
}

void LeaseFile::remove_old(uint64_t number) const {
    for (uint64_t old = number; old-- > 1;)
        if (old + kLeasesKept <= number && unlink(path_of(old).c_str()) != 0) return;
}

}  // namespace ringrt::slurm
