// SPDX-License-Identifier: BSD-3-Clause
// Which configuration takes effect: with objects that are not files, broken files, and a disk that
// is full when the copy of an accepted one is written.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "slurm_plugin/slurm/host/accepted_options.h"
#include "slurm_plugin/slurm/host/safe_file.h"
#include "tests/support/check.h"
#include "tests/support/directory.h"

namespace {

using namespace ringrt::slurm;
using ringrt::controller::Mode;

class Lines : public Host {
  public:
    void info(const std::string &) override {}
    void error(const std::string &line) override { errors.push_back(line); }
    bool wait(double) override { return false; }
    bool take_reload() override { return false; }
    bool is_reload_due() override { return false; }
    std::string_view reload_command() const override { return "reload"; }
    void publish(const SlurmCluster &, int, bool) override {}
    std::vector<std::string> errors;
};

// A directory with malleable.yaml and the copy of the accepted configuration.
struct Directory : ringrt::test::TemporaryDirectory {
    [[nodiscard]] std::string yaml() const { return path + "/yaml"; }
    [[nodiscard]] std::string copy() const { return path + "/copy"; }
    void write(const std::string &text) const { std::ofstream(yaml()) << text; }
    [[nodiscard]] std::string kept() const {
        std::ifstream file(copy());
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    // Like a host that has just started.
    [[nodiscard]] Mode mode(Lines &lines) const {
        return AcceptedOptions().read(yaml(), copy(), lines).controller.mode;
    }
};

// Writes of more than this many bytes fail, as on a full disk.
struct FullDisk {
    explicit FullDisk(rlim_t bytes) {
        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before);
        const rlimit full{bytes, before.rlim_max};
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
    }
    ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before); }
    rlimit before{};
};

TEST(without_a_file_nothing_is_changed) {
    const Directory directory;
    Lines lines;
    ck_assert(directory.mode(lines) == Mode::observe);
    for (const char *text : {"", "# mode: act\n", "interval_s: 5\n"}) {
        directory.write(text);
        ck_assert(directory.mode(lines) == Mode::observe);
    }
    ck_assert(lines.errors.empty());
    directory.write("mode: act\n");
    ck_assert(directory.mode(lines) == Mode::act);
    ck_assert_int_eq(unlink(directory.yaml().c_str()), 0);
    ck_assert(directory.mode(lines) == Mode::observe);
    ck_assert(access(directory.copy().c_str(), F_OK) != 0);
}

TEST(a_broken_file_leaves_the_accepted_one_in_force) {
    const Directory directory;
    Lines lines;
    AcceptedOptions here;
    directory.write("mode: [act");
    ck_assert(here.read(directory.yaml(), directory.copy(), lines).controller.mode ==
              Mode::observe);
    directory.write("mode: act\nsettle_s: 7\n");
    ck_assert(here.read(directory.yaml(), directory.copy(), lines).controller.mode == Mode::act);
    EXPECT_TEXT(directory.kept(), "mode: act\nsettle_s: 7\n");
    directory.write("mode: [act");
    ck_assert(here.read(directory.yaml(), directory.copy(), lines).controller.mode == Mode::act);
    ck_assert(directory.mode(lines) == Mode::act);
    ck_assert_int_eq(lines.errors.size(), 3);
    ck_assert(lines.errors[0].ends_with("no resizes until it is corrected (then: reload)"));
    ck_assert(lines.errors[1].ends_with("the previous configuration stays in force"));
    ck_assert(lines.errors[2].find("the last accepted configuration stays in force") !=
              std::string::npos);
}

// A full StateSaveLocation must not leave an empty copy, because an empty file is valid.
TEST(a_full_disk_leaves_no_copy_that_was_not_accepted) {
    for (const rlim_t room : {0, 5}) {
        const Directory directory;
        Lines lines;
        directory.write("mode: act\n");
        ck_assert(directory.mode(lines) == Mode::act);
        directory.write("mode: observe # since the first of May\n");
        {
            const FullDisk full(room);
            ck_assert(directory.mode(lines) == Mode::observe);
        }
        ck_assert_int_eq(lines.errors.size(), 1);
        ck_assert(lines.errors[0].starts_with("cannot keep a copy of malleable.yaml"));
        EXPECT_TEXT(directory.kept(), "");
        ck_assert(access((directory.copy() + ".new").c_str(), F_OK) != 0);
        directory.write("mode: [observe");
        ck_assert(directory.mode(lines) == Mode::observe);
        directory.write("mode: observe\n");
        ck_assert(directory.mode(lines) == Mode::observe);
        EXPECT_TEXT(directory.kept(), "mode: observe\n");
    }
}

// None of them may block the thread: this test would fail by a timeout.
TEST(an_object_that_is_not_a_file_is_refused_at_once) {
    const Directory directory;
    Lines lines;
    ck_assert_int_eq(mkfifo(directory.yaml().c_str(), 0600), 0);
    ck_assert(directory.mode(lines) == Mode::observe);
    unlink(directory.yaml().c_str());
    ck_assert_int_eq(mkdir(directory.yaml().c_str(), 0700), 0);
    ck_assert(directory.mode(lines) == Mode::observe);
    rmdir(directory.yaml().c_str());
    ck_assert_int_eq(symlink("/dev/zero", directory.yaml().c_str()), 0);
    ck_assert(directory.mode(lines) == Mode::observe);
    unlink(directory.yaml().c_str());
    directory.write("mode: act\n");
    ck_assert_int_eq(truncate(directory.yaml().c_str(), off_t{10} << 30), 0);
    ck_assert(directory.mode(lines) == Mode::observe);
    const char *const kSaid[] = {
        ": expected a file, got a FIFO;", ": expected a file, got a directory;",
        ": expected a file, got a device;", ":1: longer than 65536 bytes;"};
    ck_assert_int_eq(lines.errors.size(), 4);
    for (std::size_t i = 0; i < 4; ++i)
        ck_assert_msg(lines.errors[i].find(kSaid[i]) != std::string::npos, "%s",
                      lines.errors[i].c_str());
}

TEST(a_log_is_a_file) {
    const Directory directory;
    std::string error;
    ck_assert_int_eq(mkfifo(directory.yaml().c_str(), 0600), 0);
    ck_assert_int_eq(open_to_append(directory.yaml(), error), -1);
    EXPECT_TEXT(error, "expected a file, got a FIFO or a socket");
    const int reader = open(directory.yaml().c_str(), O_RDONLY | O_NONBLOCK);
    ck_assert_int_eq(open_to_append(directory.yaml(), error), -1);
    EXPECT_TEXT(error, "expected a file, got a FIFO");
    close(reader);
    ck_assert_int_eq(open_to_append("/dev/full", error), -1);
    EXPECT_TEXT(error, "expected a file, got a device");
    const int file = open_to_append(directory.copy(), error);
    ck_assert_int_ge(file, 0);
    close(file);
}

}  // namespace

int main() { return ringrt::test::run_all("accepted_options"); }
