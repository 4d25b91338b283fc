// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/backfill_host.h"

#include <dlfcn.h>

#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {
namespace {

constexpr char kBackfill[] = "sched_backfill.so";

template <typename Function>
bool resolve(void *object, const char *name, Function *&function) {
    function = reinterpret_cast<Function *>(dlsym(object, name));
    return function != nullptr;
}

// The folder of the object that holds `address`.
std::string folder_of(const void *address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
    const std::string path = info.dli_fname;
    return path.substr(0, path.find_last_of('/'));
}

}  // namespace

// RTLD_DEEPBIND: backfill's own init and fini, not ours of the same name. Never closed: its threads
// may outlive fini().
bool BackfillHost::load(const std::string &path, std::string *error) {
    void *object = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND | RTLD_NODELETE);
    if (object == nullptr) {
        *error = dlerror();
        return false;
    }
    if (resolve(object, "init", init_) && resolve(object, "fini", fini_) &&
        resolve(object, "sched_p_reconfig", reconfig_))
        return true;
    *error = path + ": not a scheduler plugin of this Slurm";
    return false;
}

// Beside this plugin, beside Slurm's own library (libslurmfull.so lies in the plugin folder), or
// where configure found Slurm's plugins.
bool BackfillHost::start(std::string *error) {
    const std::string dirs[] = {folder_of(kBackfill),
                                folder_of(reinterpret_cast<void *>(slurm_info)),
                                RINGRT_SLURM_PLUGIN_DIR};
    for (const std::string &dir : dirs)
        if (load(dir + "/" + kBackfill, error)) return init_() == SLURM_SUCCESS;
    return false;
}

void BackfillHost::stop() {
    if (fini_ != nullptr) fini_();
}

void BackfillHost::reconfigure() {
    if (reconfig_ != nullptr) reconfig_();
}

}  // namespace ringrt::slurm
