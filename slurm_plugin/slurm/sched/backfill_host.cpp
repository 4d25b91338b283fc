// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/sched/backfill_host.h"

#include <dlfcn.h>

#include <utility>

#include "slurm_plugin/slurm/base/directory_of.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {
namespace {

constexpr char kBackfill[] = "sched_backfill.so";

template <typename Function>
bool resolve(void *object, const char *name, Function *&function) {
    function = reinterpret_cast<Function *>(dlsym(object, name));
    return function != nullptr;
}

// The directory of the object that holds `address`.
std::string directory_of(const void *address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
    return ringrt::directory_of(std::string(info.dli_fname));
}

}  // namespace

// RTLD_DEEPBIND: resolves backfill's own init and fini, not this plugin's of the same name.
bool BackfillHost::load(const std::string &path, std::string *error) {
    object_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    if (object_ == nullptr) {
        *error = dlerror();
        return false;
    }
    if (resolve(object_, "init", init_) && resolve(object_, "fini", fini_) &&
        resolve(object_, "sched_p_reconfig", reconfig_))
        return true;
    *error = path + ": not a scheduler plugin of this Slurm";
    dlclose(std::exchange(object_, nullptr));
    return false;
}

// Searches next to this plugin, next to Slurm's own library (libslurmfull.so is in the plugin
// directory), and where configure found Slurm's plugins.
bool BackfillHost::start(std::string *error) {
    const std::string dirs[] = {directory_of(kBackfill),
                                directory_of(reinterpret_cast<void *>(slurm_info)),
                                RINGRT_SLURM_PLUGIN_DIR};
    for (const std::string &dir : dirs) {
        const std::string path = dir + "/" + kBackfill;
        if (!load(path, error)) continue;
        *error = path + ": its init() failed";
        return init_() == SLURM_SUCCESS;
    }
    return false;
}

// Backfill's fini() joins its thread and stops it by a flag that it never resets. A backup
// slurmctld may start and stop scheduling many times, and only a fresh copy runs again. So
// slurmctld itself unloads its scheduler each time.
void BackfillHost::stop() {
    {
        const std::scoped_lock lock(mutex_);
        reconfig_ = nullptr;
    }
    if (object_ == nullptr) return;
    fini_();
    dlclose(std::exchange(object_, nullptr));
}

void BackfillHost::reconfigure() {
    const std::scoped_lock lock(mutex_);
    if (reconfig_ != nullptr) reconfig_();
}

}  // namespace ringrt::slurm
