// SPDX-License-Identifier: BSD-3-Clause
// A checkpoint directory prepared by an attacker: links out of it, FIFOs, devices, or a sparse
// terabyte in place of each of its files. A load and three saves must end, with training or with
// one line that gives the reason, and files outside the directory must not change.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "tests/support/checkpoint_model.h"
#include "tests/support/directory.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

namespace fs = std::filesystem;

struct Scene {
    TemporaryDirectory base;
    fs::path directory = fs::path(base.path) / "checkpoints",
             outside = fs::path(base.path) / "outside";
    fs::path secret = outside / "secret";

    Scene() {
        fs::create_directory(outside);
        std::ofstream(secret) << "a secret\n";
        for (const uint64_t step : {1000, 1100})
            expect_ok(save_alone(real_files(), step, 0, directory));
    }
    [[nodiscard]] bool is_secret_kept() const {
        std::stringstream text;
        text << std::ifstream(secret).rdbuf();
        return text.str() == "a secret\n" &&
               std::distance(fs::directory_iterator(outside), fs::directory_iterator()) == 1;
    }
    // The directory of the newest checkpoint.
    [[nodiscard]] fs::path newest() const {
        fs::path out;
        for (const auto &entry : fs::directory_iterator(directory))
            if (entry.is_directory() && entry.path() > out) out = entry.path();
        return out;
    }
    // A file of the newest checkpoint: the manifest, or a shard.
    [[nodiscard]] fs::path file(bool manifest) const {
        for (const auto &entry : fs::directory_iterator(newest()))
            if (contains(entry.path().filename().string(), "manifest") == manifest)
                return entry.path();
        throw std::runtime_error("no such file");
    }
};

using Prepare = std::function<void(const Scene &, const fs::path &)>;

// What replaces a file of the directory.
const std::vector<std::pair<const char *, Prepare>> kManners = {
    {"a link to a file outside",
     [](const Scene &scene, const fs::path &at) { fs::create_symlink(scene.secret, at); }},
    {"a link to a directory outside",
     [](const Scene &scene, const fs::path &at) { fs::create_symlink(scene.outside, at); }},
    {"a hard link",
     [](const Scene &scene, const fs::path &at) { fs::create_hard_link(scene.secret, at); }},
    {"a link to itself", [](const Scene &, const fs::path &at) { fs::create_symlink(at, at); }},
    {"a link to a device",
     [](const Scene &, const fs::path &at) { fs::create_symlink("/dev/zero", at); }},
    {"a FIFO", [](const Scene &, const fs::path &at) { ck_assert(mkfifo(at.c_str(), 0600) == 0); }},
    {"a directory", [](const Scene &, const fs::path &at) { fs::create_directory(at); }},
    {"a sparse file of a terabyte",
     [](const Scene &, const fs::path &at) {
         std::ofstream(at).flush();
         ck_assert(truncate(at.c_str(), off_t{1} << 40) == 0);
     }},
    {"a path out of the directory",
     [](const Scene &, const fs::path &at) { std::ofstream(at) << "../outside\n"; }},
};

// Returns 0 if everything ended well or with a reason.
int use(const fs::path &directory) {
    alarm(60);  // ends a hang
    rlimit memory{.rlim_cur = rlim_t{4} << 30, .rlim_max = rlim_t{4} << 30};
    setrlimit(RLIMIT_AS, &memory);
    Status loaded, saved;
    run_ranks(1, [&](Group &group) {
        Store store(real_files(), directory, incarnation(1), 3);
        Model model(0, 1);
        Manifest manifest;
        loaded = load(group, store, model.buffers(), manifest, {0.01});
    });
    if (!loaded.ok() && loaded.message.empty()) return 2;
    for (const uint64_t step : {1200, 1300, 1400, 1500}) {
        saved = save_alone(real_files(), step, 1, directory);
        if (!saved.ok() && saved.message.empty()) return 3;
    }
    return 0;
}

int used(const fs::path &directory) {
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) _exit(use(directory));
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST(a_hostile_replacement_of_a_file_does_no_harm) {
    enum class Place : uint8_t { latest, manifest, shard, newest, directory };
    for (const Place place :
         {Place::latest, Place::manifest, Place::shard, Place::newest, Place::directory})
        for (const auto &[name, prepare] : kManners) {
            const Scene scene;
            const fs::path at = place == Place::latest     ? scene.directory / "LATEST"
                                : place == Place::manifest ? scene.file(true)
                                : place == Place::shard    ? scene.file(false)
                                : place == Place::newest   ? scene.newest()
                                                           : scene.directory;
            fs::remove_all(at);
            prepare(scene, at);
            std::error_code loop;
            const bool is_outside = place == Place::directory && fs::is_directory(at, loop);
            const int status = used(scene.directory);
            ck_assert_msg(status == 0, "place %d, %s: %d", int(place), name, status);
            // If the directory itself is a link to the outside, that is the user's choice: saves go
            // there.
            ck_assert_msg(is_outside || scene.is_secret_kept(), "place %d, %s: what is outside",
                          int(place), name);
            ck_assert(fs::exists(scene.secret));
        }
}

int main() { return ringrt::test::run_all("checkpoint_hostile"); }
