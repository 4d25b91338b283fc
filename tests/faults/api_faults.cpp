// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into slurmctld (LD_PRELOAD) for fault F22: Slurm's job listing throws, blocks or is
// slow, but only on the plugin's thread. The file $RINGRT_API_FAULT selects the fault and may
// change at any time: "throw", "block" or "slow". Other content, or no file, injects nothing.
#include <dlfcn.h>
#include <pthread.h>
#include <slurm/slurm.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

bool on_plugins_thread() {
    char name[32] = "";
    return pthread_getname_np(pthread_self(), name, sizeof name) == 0 &&
           std::strcmp(name, "sched_doubling") == 0;
}

std::string fault() {
    const char *path = std::getenv("RINGRT_API_FAULT");
    char text[16] = "";
    std::FILE *file = path != nullptr ? std::fopen(path, "r") : nullptr;
    if (file == nullptr) return {};
    if (std::fscanf(file, "%15s", text) != 1) text[0] = '\0';
    std::fclose(file);
    return text;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int slurm_load_jobs(time_t since,
                                                                      job_info_msg_t **jobs,
                                                                      uint16_t flags) {
    using Load = int (*)(time_t, job_info_msg_t **, uint16_t);
    static const auto real = reinterpret_cast<Load>(dlsym(RTLD_NEXT, "slurm_load_jobs"));
    if (on_plugins_thread()) {
        const std::string what = fault();
        if (what == "throw") throw std::runtime_error("injected by api_faults");
        while (fault() == "block") usleep(100000);
        if (what == "slow") usleep(3000000);
    }
    return real(since, jobs, flags);
}
