// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/administrator.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "slurm_plugin/slurm/host/safe_file.h"
#include "slurm_plugin/slurm/host/yaml_options.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {
namespace {

// Follows links: a site may keep its configuration elsewhere.
std::string real_path(const std::string &path) {
    char *resolved = realpath(path.c_str(), nullptr);
    if (resolved == nullptr) return path;
    std::string out(resolved);
    std::free(resolved);
    return out;
}

// Assumes one key per line, as in nearly every such file. The result is parsed before use.
std::string with_mode(const std::string &text, const std::string &mode) {
    std::string out, line = "mode: " + mode + "\n";
    for (std::size_t at = 0, next = 0; at < text.size(); at = next) {
        const std::size_t newline = text.find('\n', at);
        next = newline == std::string::npos ? text.size() : newline + 1;
        const std::string present = text.substr(at, next - at);
        if (present.starts_with("mode:")) {
            out += std::exchange(line, "");
            continue;
        }
        out += present;
        if (newline == std::string::npos) out += '\n';
    }
    return out + line;
}

bool says_mode(const std::string &text, const std::string &path, const std::string &mode) {
    const auto parsed = parse_yaml(text, path);
    const auto *options = std::get_if<PluginOptions>(&parsed);
    return options != nullptr && controller::get_parameter(options->controller, "mode") == mode;
}

}  // namespace

std::optional<std::string> not_administrator() {
    slurm_conf_t *conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || conf == nullptr)
        return "slurmctld does not answer";
    const uid_t slurm_user = conf->slurm_user_id;
    free_conf(conf);
    if (geteuid() == 0 || geteuid() == slurm_user) return std::nullopt;
    return "only root or SlurmUser may do this";
}

std::optional<std::string> reconfigure() {
    if (slurm_reconfigure() == SLURM_SUCCESS) return std::nullopt;
    return std::string("scontrol reconfigure: ") + slurm_strerror(errno);
}

std::optional<std::string> set_mode(const std::string &given_path, const std::string &mode) {
    const std::string path = real_path(given_path);
    const std::string by_hand = "; set mode: " + mode + " there by hand, then retry";
    const auto file = read_file(path, kYamlBytesMax);
    const auto *error = std::get_if<FileError>(&file);
    if (error != nullptr && !error->missing) return path + ": " + error->text + by_hand;
    const std::string text = error != nullptr ? "" : std::get<std::string>(file);
    if (says_mode(text, path, mode)) return std::nullopt;
    const std::string changed = with_mode(text, mode);
    if (!says_mode(changed, path, mode)) return path + ": cannot change the mode" + by_hand;
    struct stat before {};
    const bool was_there = stat(path.c_str(), &before) == 0;
    if (const auto wrong = replace_file(path, changed)) return path + ": " + *wrong + by_hand;
    if (was_there && (chmod(path.c_str(), before.st_mode & 07777) != 0 ||
                      chown(path.c_str(), before.st_uid, before.st_gid) != 0))
        return path + ": its mode is changed, but its owner or permissions could not be kept";
    return std::nullopt;
}

}  // namespace ringrt::slurm
