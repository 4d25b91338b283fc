// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/spank/beside_tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace ringrt::slurm {
namespace {

std::vector<int> open_descriptors() {
    std::vector<int> out;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == nullptr) return out;
    while (const dirent *entry = readdir(directory))
        if (entry->d_name[0] != '.') out.push_back(std::atoi(entry->d_name));
    out.erase(std::remove(out.begin(), out.end(), dirfd(directory)), out.end());
    closedir(directory);
    return out;
}

bool has_word(const std::string &list, const std::string &word) {
    return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// Mount point of a hierarchy: the freezer, by which Slurm tracks a step's processes, or
// (`controller` empty) cgroup v2.
std::string mount_of(const std::string &controller) {
    std::ifstream mounts("/proc/self/mounts");
    std::string line;
    while (std::getline(mounts, line)) {
        std::istringstream words(line);
        std::string device, directory, type, options;
        words >> device >> directory >> type >> options;
        if (controller.empty() ? type == "cgroup2"
                               : type == "cgroup" && has_word(options, controller))
            return directory;
    }
    return "";
}

// "6:freezer:/slurm/uid_0/job_1/step_0" or "0::/...": the path in the hierarchy.
std::string path_in(pid_t process, const std::string &controller) {
    std::ifstream groups("/proc/" + std::to_string(process) + "/cgroup");
    std::string line;
    while (std::getline(groups, line)) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == line.npos || second == line.npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (controller.empty() ? controllers.empty() : has_word(controllers, controller))
            return line.substr(second + 1);
    }
    return "";
}

}  // namespace

bool keep_only(std::initializer_list<int> fds) {
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0) return false;
    for (const int fd : open_descriptors())
        if (fd != nowhere && std::find(fds.begin(), fds.end(), fd) == fds.end())
            dup3(nowhere, fd, O_CLOEXEC);
    return true;
}

void join_cgroups_of(pid_t task) {
    for (const std::string controller : {"freezer", ""}) {
        const std::string path = path_in(task, controller), mount = mount_of(controller);
        if (mount.empty() || path.empty() || path == path_in(getpid(), controller)) continue;
        std::ofstream(mount + path + "/cgroup.procs") << getpid() << std::endl;
    }
}

bool become(const JobOwner &owner) {
    if (getuid() != 0) return getuid() == owner.user;
    if (geteuid() != 0 && seteuid(0) != 0) return false;
    return setgroups(owner.groups.size(), owner.groups.data()) == 0 &&
           setresgid(owner.group, owner.group, owner.group) == 0 &&
           setresuid(owner.user, owner.user, owner.user) == 0;
}

}  // namespace ringrt::slurm
