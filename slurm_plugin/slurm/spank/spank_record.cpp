// SPDX-License-Identifier: GPL-2.0-or-later
// The SPANK plugin in the srun of a malleable job: records the call, with the rights of the job's
// owner, in a file that only the owner can read. Extensions run it as the same owner. No part of
// Slurm or of the controller opens it.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurm_plugin/records/extension.h"
#include "slurm_plugin/records/fields.h"
#include "slurm_plugin/slurm/base/loaded_job.h"
#include "slurm_plugin/slurm/slurm_compat.h"
#include "slurm_plugin/slurm/spank/sbatch_flags.h"
#include "slurm_plugin/slurm/spank/spank_contexts.h"
#include "slurm_plugin/slurm/spank/srun_record.h"

namespace ringrt::slurm {
namespace {

char record_path[PATH_MAX];  // of this srun; empty: none. No constructor runs at load time.

// The words of /proc/self/cmdline or environ; empty if they are too long to record.
std::vector<std::string> words_in(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(kSrunRecordBytesMax, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.eof()) return {};
    text.resize(static_cast<std::size_t>(file.gcount()));
    std::vector<std::string> out;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\0', begin), text.size());
        out.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return out;
}

std::string present_directory() {
    char path[PATH_MAX];
    return getcwd(path, sizeof path) != nullptr ? path : "";
}

mode_t present_umask() {
    const mode_t mask = umask(022);
    umask(mask);
    return mask;
}

std::optional<uint64_t> open_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return std::nullopt;
    return limit.rlim_cur;
}

std::string work_dir_of(uint32_t job_id) {
    LoadedJob job;
    if (job.load(job_id) != SLURM_SUCCESS || !job || job->work_dir == nullptr) return {};
    return job->work_dir;
}

// Writes the whole file or nothing.
bool write_private(const std::string &path, const std::string &text) {
    const std::string fresh = path + "." + std::to_string(getpid());
    const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (close(fd) == 0 && written && rename(fresh.c_str(), path.c_str()) == 0) return true;
    unlink(fresh.c_str());
    return false;
}

// 0: extensions of this job have no srun to repeat.
uint32_t malleable_job() {
    uint32_t job_id = 0;
    const char *id = std::getenv("SLURM_JOB_ID");
    const char *live = std::getenv("RINGRT_LIVE_RESIZE");
    const bool is_base = std::getenv(kFlags[0].in_job) != nullptr && live != nullptr &&
                         std::string_view(live) == "1" && std::getenv(records::kExtends) == nullptr;
    if (!is_base || id == nullptr || !records::read_into(id, 1, UINT32_MAX - 1, job_id)) return 0;
    return job_id;
}

}  // namespace

void record_srun(spank_t spank) {
    if (spank_context() != S_CTX_LOCAL) return;
    for (const char *name : {kExtendable, kStepWait})
        unsetenv(name);  // inherited from an enclosing step
    const uint32_t job_id = malleable_job();
    int words = 0;
    char **program = nullptr;
    if (job_id == 0 || spank_get_item(spank, S_JOB_ARGV, &words, &program) != ESPANK_SUCCESS ||
        words <= 0)
        return;
    const SrunCall call{.arguments = words_in("/proc/self/cmdline"),
                        .program_words = static_cast<std::size_t>(words),
                        .environment = words_in("/proc/self/environ"),
                        .directory = present_directory(),
                        .umask = present_umask(),
                        .open_files = open_files()};
    if (const std::string wait = step_wait(call); !wait.empty()) setenv(kStepWait, wait.c_str(), 1);
    const auto script = script_of(call);
    const std::string directory = work_dir_of(job_id);
    if (!script || directory.empty()) return;
    const std::string path = directory + "/" + records::srun_record_name(job_id);
    if (path.size() >= sizeof record_path || !write_private(path, *script)) return;
    path.copy(record_path, path.size());
    setenv(kExtendable, "1", 1);
}

void forget_srun() {
    if (record_path[0] != '\0') unlink(record_path);
    record_path[0] = '\0';
}

}  // namespace ringrt::slurm
