// SPDX-License-Identifier: BSD-3-Clause
// malleable.yaml, which slurmctld reads.
#include <cmath>

#include "slurm_plugin/slurm/host/yaml_options.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt::slurm;
using namespace ringrt::fuzz;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const auto parsed = parse_yaml(text_of(data, size), "malleable.yaml");
    if (const auto *error = std::get_if<YamlError>(&parsed)) {
        expect(is_one_line(error->message), "a refused file gets one line");
        expect(error->message.starts_with("malleable.yaml:"), "that names the file and the line");
        return 0;
    }
    PluginOptions options = std::get<PluginOptions>(parsed);
    expect(options.event_log.empty() || options.event_log.front() == '/', "an absolute path");
    for (const auto &parameter : ringrt::controller::parameters()) {
        const std::string text = get_parameter(options.controller, parameter.name);
        expect(!set_parameter(options.controller, parameter.name, text),
               "what was accepted is accepted again");
        expect(get_parameter(options.controller, parameter.name) == text, "and is the same");
    }
    return 0;
}
