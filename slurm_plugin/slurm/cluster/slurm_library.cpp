// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/slurm_library.h"

#include <slurm/slurm.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ringrt::slurm {
namespace {

bool is_ready = false;

// libslurm ends the program if it finds no configuration, with messages that do not name the cause.
void say_what_is_missing() {
    if (!is_ready)
        std::fprintf(
            stderr,
            "%s: there is no slurm.conf here: set SLURM_CONF to its path, or run this on a "
            "node of the cluster\n",
            program_invocation_short_name);
}

// libslurm would wait a minute for a missing file.
void check_named_file() {
    const char *path = std::getenv("SLURM_CONF");
    if (path == nullptr || *path == '\0' || access(path, R_OK) == 0) return;
    std::fprintf(stderr, "%s: cannot read %s, which SLURM_CONF names: %s\n",
                 program_invocation_short_name, path, std::strerror(errno));
    std::exit(1);
}

}  // namespace

void init_slurm_library() {
    if (is_ready) return;
    check_named_file();
    std::atexit(say_what_is_missing);
    slurm_init(nullptr);
    is_ready = true;
}

}  // namespace ringrt::slurm
