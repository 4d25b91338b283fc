// SPDX-License-Identifier: BSD-3-Clause
// Reads a communicator's configuration.
#include <cstddef>
#include <cstring>
#include <string_view>

#include "libringrt/api/comm.h"
#include "libringrt/base/config_struct.h"
#include "libringrt/job/settings.h"

namespace ringrt {
namespace {

// The struct's first version ended here, so no program passes a smaller one.
constexpr size_t kConfigBytesMin = offsetof(ringrt_comm_config_t, start_timeout_ms) +
                                   sizeof(ringrt_comm_config_t::start_timeout_ms);
constexpr const char *kName = "world";

Status read_ranks(const ringrt_comm_config_t &config, const Environment &environment,
                  CommunicatorConfig &out, std::string &run) {
    SlurmIdentity slurm;
    Status in_slurm = slurm_identity(environment, &slurm);
    if (config.size == 0 && !in_slurm.ok()) return in_slurm;
    out.rank = config.size == 0 ? slurm.rank : config.rank;
    out.size = config.size == 0 ? slurm.size : config.size;
    run = slurm.run;
    if (out.size >= 1 && out.size <= kRanksMax && out.rank >= 0 && out.rank < out.size) return {};
    return {RINGRT_INVALID_ARGUMENT,
            format_text("rank %d of %d: expected 0 <= rank < size <= 65536", out.rank, out.size)};
}

// The name is part of a file name.
Status read_name(const ringrt_comm_config_t &config, std::string &out) {
    out = config.name ? std::string(config.name, strnlen(config.name, 100)) : kName;
    constexpr std::string_view kAllowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (!out.empty() && out.size() <= 64 && out.find_first_not_of(kAllowed) == out.npos) return {};
    return {
        RINGRT_INVALID_ARGUMENT,
        format_text("config.name: expected 1 to 64 of [A-Za-z0-9._-], got \"%.80s\"", out.c_str())};
}

Status failed(const char *function, int code) {
    return {RINGRT_SYSTEM_ERROR,
            format_text("config.store: its %s failed with %d", function, code)};
}

Status read_store(const ringrt_store_t &store, const std::string &name, TextStore &out) {
    if (!store.put || !store.get) return invalid("config.store: put and get are both needed");
    const std::string key = "ringrt/" + name;
    out.put = [store, key](const std::string &text) -> Status {
        const int code = store.put(store.context, key.c_str(), text.c_str());
        return code == 0 ? Status{} : failed("put", code);
    };
    out.get = [store, key](uint32_t timeout_ms, std::string *text) -> Status {
        char value[RINGRT_STORE_VALUE_BYTES] = "";
        const int code = store.get(store.context, key.c_str(), value, sizeof value, timeout_ms);
        if (code != 0) return failed("get", code);
        text->assign(value, strnlen(value, sizeof value));
        return {};
    };
    return {};
}

Status read_meeting(const ringrt_comm_config_t &config, const Environment &environment,
                    const std::string &run, CommunicatorConfig &out) {
    std::string name;
    RINGRT_TRY(read_name(config, name));
    if (config.store && config.rendezvous)
        return invalid("config.store and config.rendezvous: expected one of them");
    if (config.store) return read_store(*config.store, name, out.store);
    const char *where = config.rendezvous ? config.rendezvous : environment("RINGRT_RENDEZVOUS");
    out.rendezvous =
        where && *where ? std::string(where, strnlen(where, 4000)) : "rendezvous-" + run;
    const bool by_file = !out.rendezvous.starts_with("tcp:");
    // So that it differs from the file of the job's own handle.
    if (by_file) out.rendezvous += "-" + name;
    return {};
}

}  // namespace

Status read_comm_config(const ringrt_comm_config_t *given, const Environment &environment,
                        CommunicatorConfig &out) {
    ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;
    RINGRT_TRY(copy_config(given, kConfigBytesMin, "COMM_CONFIG", config));
    std::string run;
    RINGRT_TRY(read_ranks(config, environment, out, run));
    RINGRT_TRY(read_number(kTimeout, environment, config.timeout_ms));
    RINGRT_TRY(read_number(kStartTimeout, environment, config.start_timeout_ms));
    out.timeout_ms = config.timeout_ms;
    out.start_timeout_ms = config.start_timeout_ms;
    return read_meeting(config, environment, run, out);
}

}  // namespace ringrt
