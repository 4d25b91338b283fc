// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/accepted_options.h"

#include <unistd.h>

#include <ctime>

#include "slurm_plugin/slurm/host/safe_file.h"

namespace ringrt::slurm {
namespace {

// A copy that cannot be written is removed: an older one must not come into force later.
void keep_copy(const PluginOptions &options, const std::string &to, Log &log) {
    if (!options.found) {
        (void)unlink(to.c_str());
        return;
    }
    const auto kept = read_file(to, kYamlBytesMax);
    if (const auto *text = std::get_if<std::string>(&kept); text && *text == options.text) return;
    const auto error = replace_file(to, options.text);
    if (!error) return;
    (void)unlink(to.c_str());
    log.error("cannot keep a copy of malleable.yaml as " + to + ": " + *error +
              "; if the file is invalid at a restart, no job is resized");
}

}  // namespace

PluginOptions AcceptedOptions::read(const std::string &yaml, const std::string &last_good,
                                    Host &host) {
    const auto now = read_yaml(yaml);
    if (const auto *options = std::get_if<PluginOptions>(&now)) {
        keep_copy(*options, last_good, host);
        have_options_ = true;
        refusal_.clear();
        return options_ = *options;
    }
    const std::string &message = std::get<YamlError>(now).message;
    if (refusal_.empty()) refused_since_s_ = static_cast<double>(std::time(nullptr));
    refusal_ = message;
    if (have_options_) {
        host.error(message + "; the previous configuration stays in force");
        return options_;
    }
    const auto before = read_yaml(last_good);
    if (const auto *options = std::get_if<PluginOptions>(&before); options && options->found) {
        host.error(message + "; the last accepted configuration stays in force (" + last_good +
                   ")");
        have_options_ = true;
        return options_ = *options;
    }
    host.error(message + "; no resizes until it is corrected (then: " +
               std::string(host.reload_command()) + ")");
    return {};
}

}  // namespace ringrt::slurm
