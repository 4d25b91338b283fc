// SPDX-License-Identifier: BSD-3-Clause
// Inputs for readers that take a path.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz.h"
#include "tools/ringsim/csv.h"
#include "tools/ringsim/workload.h"

namespace ringrt::fuzz {

// A file in memory.
class InputFile {
  public:
    InputFile() : fd_(memfd_create("input", MFD_CLOEXEC)) { expect(fd_ >= 0, "memfd_create"); }
    ~InputFile() { close(fd_); }
    InputFile(const InputFile &) = delete;
    InputFile &operator=(const InputFile &) = delete;

    void hold(std::string_view text) {
        expect(ftruncate(fd_, 0) == 0, "ftruncate");
        expect(pwrite(fd_, text.data(), text.size(), 0) == ssize_t(text.size()), "pwrite");
    }
    std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

  private:
    int fd_;
};

// A folder that is gone with the process.
class InputFolder {
  public:
    InputFolder() {
        namespace fs = std::filesystem;
        const fs::path memory = "/dev/shm";  // a disk would be most of the time
        const fs::path parent = fs::exists(memory) ? memory : fs::temp_directory_path();
        std::string name = (parent / "ringrt-fuzz-XXXXXX").string();
        expect(mkdtemp(name.data()) != nullptr, "mkdtemp");
        path_ = name;
    }
    ~InputFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    InputFolder(const InputFolder &) = delete;
    InputFolder &operator=(const InputFolder &) = delete;

    const std::filesystem::path &path() const { return path_; }
    void put(const std::string &name, std::string_view text) const {
        std::ofstream(path_ / name, std::ios::binary).write(text.data(), ssize_t(text.size()));
    }

  private:
    std::filesystem::path path_;
};

// What the simulator relies on in every job that a reader lets through.
inline void check_jobs(const sim::Workload &workload, const sim::WorkloadOptions &options) {
    for (const sim::JobSpec &job : workload.jobs) {
        expect(std::isfinite(job.submit_s) && job.submit_s >= 0, "submit time");
        expect(std::isfinite(job.limit_s) && job.limit_s >= 0, "time limit");
        expect(job.gpus_asked >= 1 && job.gpus_asked <= options.cluster_gpus, "GPUs asked for");
        expect(job.gpus_min >= 1 && job.gpus_min <= job.gpus_max, "MIN <= MAX");
        expect(job.gpus_limit >= 1 && job.batch >= 1, "limit and batch");
        expect(job.profile != nullptr, "a profile");
        const double step_s =
            job.profile->step_time(sim::packed(job.gpus_asked, 4), job.batch).step_s;
        expect(std::isfinite(step_s) && step_s > 0, "a step takes time");
        const std::vector<double> &ends = job.profile->epoch_ends();
        expect(!ends.empty() && std::isfinite(ends.back()), "the work is finite");
    }
}

// Reads; a refusal is one line.
template <typename Read>
void read_checked(Read read, const sim::WorkloadOptions &options) try {
    check_jobs(read(), options);
} catch (const sim::InputError &error) {
    expect(is_one_line(error.what()), "a refused file gets one line");
}

}  // namespace ringrt::fuzz
