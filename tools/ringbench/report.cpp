// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringbench/report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace ringrt::bench {
namespace {

__attribute__((format(printf, 1, 2))) std::string line(const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

const char *buffers(const Row &row) { return row.shared ? "shared" : "private"; }
auto number(uint64_t value) { return static_cast<unsigned long long>(value); }

}  // namespace

double quantile(std::vector<double> values, double q) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, size_t(q * double(values.size())))];
}

std::string csv(const std::vector<Row> &rows) {
    std::string text = "impl,ranks,buffers,bytes,median_us,p10_us,busbw_GBps,cycle_us,wrong\n";
    for (const Row &row : rows) {
        text += line("%s,%d,%s,%llu,%.3f,%.3f,%.4f,%.3f,%llu\n", row.implementation.c_str(),
                     row.ranks, buffers(row), number(row.bytes), row.median_us, row.p10_us,
                     row.busbw_GBps, row.cycle_us, number(row.wrong));
    }
    return text;
}

std::string json(const std::vector<Row> &rows, const Machine &machine) {
    nlohmann::json out{{"placement", machine.placement},
                       {"handover_ns", machine.handover_ns},
                       {"cores", machine.cores},
                       {"memory_GBps", machine.memory_GBps},
                       {"rows", nlohmann::json::array()}};
    for (const Row &row : rows) {
        out["rows"].push_back({{"impl", row.implementation},
                               {"ranks", row.ranks},
                               {"buffers", buffers(row)},
                               {"bytes", row.bytes},
                               {"median_us", row.median_us},
                               {"p10_us", row.p10_us},
                               {"busbw_GBps", row.busbw_GBps},
                               {"cycle_us", row.cycle_us},
                               {"floor_us", row.floor_us},
                               {"wrong", row.wrong}});
    }
    return out.dump(2) + "\n";
}

std::string table(const std::vector<Row> &rows, const Machine &machine) {
    std::string text =
        line("%d cores, %s (%.0f ns from core to core), memory %.1f GB/s\n", machine.cores,
             machine.placement.c_str(), machine.handover_ns, machine.memory_GBps);
    text += line("%-13s %5s %-7s %10s %11s %11s %9s %11s %11s %6s\n", "IMPL", "RANKS", "BUFFERS",
                 "BYTES", "MEDIAN_US", "P10_US", "BUSBW", "CYCLE_US", "FLOOR_US", "WRONG");
    for (const Row &row : rows) {
        text += line("%-13s %5d %-7s %10llu %11.2f %11.2f %9.3f %11.2f %11.2f %6llu\n",
                     row.implementation.c_str(), row.ranks, buffers(row), number(row.bytes),
                     row.median_us, row.p10_us, row.busbw_GBps, row.cycle_us, row.floor_us,
                     number(row.wrong));
    }
    return text;
}

}  // namespace ringrt::bench
