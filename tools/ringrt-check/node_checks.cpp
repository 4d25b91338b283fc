// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include "tools/ringrt-check/checks.h"

namespace ringrt::check {
namespace {

constexpr char kLibrary[] = "libringrt.so.1";

// Searches as the dynamic loader does.
void check_library(std::vector<Finding> &out) {
    void *object = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
    const bool there = object != nullptr;
    if (there) dlclose(object);
    out.push_back({there ? Level::ok : Level::note, "library",
                   std::string(kLibrary) +
                       (there ? " is there"
                              : " is not found: programs that link it do not start on this node; "
                                "install it, run ldconfig")});
}

}  // namespace

std::vector<Finding> check_node(const Site &site) {
    std::vector<Finding> out;
    if (!site.conf.error.empty()) return {{Level::wrong, "slurm_conf", site.conf.error}};
    check_slurm_version(site, out);
    check_plugstack(site, Level::wrong, out);
    check_library(out);
    return out;
}

}  // namespace ringrt::check
