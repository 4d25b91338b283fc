// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <filesystem>

#include "sim/workload/csv.h"
#include "tools/ringsim/commands.h"
#include "tools/usage.h"

int main(int argc, char **argv) {
    try {
        return ringrt::end_of_output(ringrt::sim::run_command_line(argc, argv), "ringsim");
    } catch (const ringrt::sim::InputError &error) {
        std::fprintf(stderr, "ringsim: %s\n", error.what());
        return 1;
    } catch (const std::filesystem::filesystem_error &error) {
        std::fprintf(stderr, "ringsim: %s: %s\n", error.path1().c_str(),
                     error.code().message().c_str());
        return 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ringsim: internal error: %s\n", error.what());
        return 1;
    }
}
