// SPDX-License-Identifier: BSD-3-Clause
// A rank's environment as lines of NAME=VALUE, and scontrol's answers.
#include "libringrt/job/settings.h"

#include <signal.h>

#include <map>

#include "libringrt/job/reporter.h"
#include "libringrt/job/requeue.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt;
using namespace ringrt::fuzz;

namespace {

void check_bounds(const Settings &s) {
    expect(s.size >= 1 && s.size <= 65536 && s.rank >= 0 && s.rank < s.size, "rank and size");
    expect(s.local_rank >= -1 && s.local_rank <= 65535, "local rank");
    expect(s.save_interval_s >= 1 && s.keep_checkpoints >= 1, "checkpoints");
    expect(s.timeout_ms >= 1 && s.start_timeout_ms >= 1 && s.leave_timeout_s >= 1, "time-outs");
    expect(s.signal >= 1 && s.signal <= 64 && s.signal != SIGKILL && s.signal != SIGSTOP, "signal");
    expect(s.checkpoint_dir.starts_with('/') && s.checkpoint_dir.size() <= 8100, "directory");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    std::map<std::string, std::string, std::less<>> variables;
    const std::string_view text = text_of(data, size);
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view line = take_until(rest, '\n');
        const std::string name(take_until(line, '='));
        variables[name] = std::string(line);
    }
    Settings settings;
    const Status resolved = resolve(
        nullptr,
        [&](const char *name) -> const char * {
            const auto found = variables.find(std::string_view(name));
            return found == variables.end() ? nullptr : found->second.c_str();
        },
        settings);
    if (resolved.ok()) check_bounds(settings);
    expect(resolved.ok() || resolved.code == RINGRT_INVALID_ARGUMENT, "refused or resolved");
    (void)judge({.exit_code = 1, .output = std::string(text)});
    const std::string comment = job::comment_in(std::string(text));
    expect(comment.find('\n') == comment.npos, "a comment is one line");
    return 0;
}
