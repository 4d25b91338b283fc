// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/slurm_paths.h"

#include <cerrno>
#include <charconv>
#include <memory>
#include <utility>

#include "slurm_plugin/slurm/base/directory_of.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {
namespace {

struct FreeConf {
    void operator()(slurm_conf_t *conf) const { free_conf(conf); }
};

}  // namespace

std::optional<SlurmSetup> ask_slurm_setup(std::string *error) {
    slurm_conf_t *answer = nullptr;
    if (slurm_load_ctl_conf(0, &answer) != SLURM_SUCCESS || answer == nullptr) {
        *error = slurm_strerror(errno);
        return std::nullopt;
    }
    const std::unique_ptr<slurm_conf_t, FreeConf> conf(answer);
    const std::string state = bounded_text(conf->state_save_location);
    const std::string log = bounded_text(conf->slurmctld_logfile);
    const std::string beside = log.starts_with('/') ? directory_of(log) : state;
    return SlurmSetup{
        .paths = {.yaml = directory_of(bounded_text(conf->slurm_conf)) + "/malleable.yaml",
                  .last_good = state + "/malleable.yaml.accepted",
                  .journal = state + "/malleable_journal",
                  .event_log = beside + "/malleable_events.jsonl",
                  .diag = beside + "/malleable_diag.json",
                  .explain = beside + "/malleable_explain.json"},
        .state = state,
        .version = bounded_text(conf->version),
        .scheduler = bounded_text(conf->schedtype),
        .user = bounded_text(conf->slurm_user_name),
        .user_id = conf->slurm_user_id,
        .boot_s = conf->boot_time,
        .read_s = conf->last_update,
        .message_timeout_s = conf->msg_timeout,
        .requeue_hold_s = requeue_hold_s(bounded_text(conf->authinfo)),
    };
}

double requeue_hold_s(std::string_view auth_info) {
    constexpr std::string_view kKey = "cred_expire=";
    constexpr int kDefault_s = 120, kLeast_s = 5;
    int expire_s = kDefault_s;
    if (const std::size_t at = auth_info.find(kKey); at != std::string_view::npos) {
        const std::string_view value = auth_info.substr(at + kKey.size());
        std::from_chars(value.data(), value.data() + value.size(), expire_s);
    }
    return 1 + (expire_s < kLeast_s ? kDefault_s : expire_s);
}

std::optional<SlurmPaths> ask_slurm_paths() {
    std::string error;
    auto setup = ask_slurm_setup(&error);
    if (!setup) return std::nullopt;
    return std::move(setup->paths);
}

}  // namespace ringrt::slurm
