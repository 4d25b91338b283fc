// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/summary.h"

#include <algorithm>
#include <cmath>

#include "slurm_plugin/records/intent.h"
#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

constexpr std::size_t kBarMax = 32, kBarLeast = 8, kBesidesBar = 62;

std::string repeated(const char *symbol, std::size_t times) {
    std::string out;
    while (times-- > 0) out += symbol;
    return out;
}

// One cell per GPU if they fit, otherwise in proportion: GPUs held, then up to its MAX.
std::string bar(const JobView &job, int most, std::size_t cells, bool utf8) {
    const double scale = std::min(1.0, static_cast<double>(cells) / std::max(1, most));
    const auto long_as = [&](int gpus) {
        return std::min(cells, static_cast<std::size_t>(std::ceil(gpus * scale)));
    };
    const std::size_t held = long_as(job.gpus), at_most = std::max(held, long_as(job.gpus_max));
    return repeated(utf8 ? "█" : "#", held) + repeated(utf8 ? "·" : ".", at_most - held) +
           std::string(cells - at_most, ' ');
}

std::string job_row(const JobView &job, int most, std::size_t cells, bool utf8) {
    std::string state = job.state;
    if (job.target > 0) state += (utf8 ? " → " : " > ") + std::to_string(job.target);
    const auto left = job.left_s();
    return name_cell(shown_name(job.id, printable(job.task)), 8) + " " +
           fit(printable(job.name), 10, false) + " " + bar(job, most, cells, utf8) + " " +
           fit(std::to_string(job.gpus), 4, true) + "  " + fit(state, 12, false) +
           fit(left ? duration(*left) : "-", 8, true) + "  " + printable(job.reason);
}

}  // namespace

Summary summarize(std::span<const slurm::ListedJob> listed, int gpus_total, int gpus_away) {
    Summary out{.gpus_total = gpus_total, .gpus_away = gpus_away};
    for (const slurm::ListedJob &job : listed) {
        if (job.ended) continue;
        if (!job.pending) out.gpus_in_use += job.gpus;
        const auto intent = records::parse_intent(job.admin_comment);
        if (!intent) continue;
        ++(job.pending ? out.waiting : out.running);
        if (!job.pending) out.gpus_borrowed += std::max(0, job.gpus - intent->gpus_min);
    }
    return out;
}

std::string summary_text(const Summary &s) {
    const int free = std::max(0, s.gpus_total - s.gpus_away - s.gpus_in_use);
    std::string out = std::to_string(s.gpus_in_use) + " of " + std::to_string(s.gpus_total) +
                      " GPUs in use, " + std::to_string(free) + " free, " +
                      std::to_string(s.gpus_borrowed) + " borrowed";
    if (s.gpus_away > 0) out += ", " + std::to_string(s.gpus_away) + " on nodes that are down";
    return out + "; malleable jobs: " + std::to_string(s.running) +
           (s.running == 1 ? " runs, " : " run, ") + std::to_string(s.waiting) +
           (s.waiting == 1 ? " waits" : " wait");
}

std::vector<std::string> top_lines(std::span<const JobView> jobs, const Summary &summary,
                                   const Screen &screen, std::size_t lines) {
    std::vector<std::string> out{summary_text(summary), ""};
    int most = 1;
    for (const JobView &job : jobs) most = std::max({most, job.gpus, job.gpus_max});
    const std::size_t room = std::max(screen.columns, kBesidesBar + kBarLeast) - kBesidesBar;
    const std::size_t cells =
        std::clamp(std::min(room, static_cast<std::size_t>(most)), kBarLeast, kBarMax);
    out.push_back(fit("JOBID", 8, true) + " " + fit("NAME", 10, false) + " " +
                  std::string(cells, ' ') + " GPUS  " + fit("STATE", 12, false) +
                  fit("LEFT", 8, true) + "  REASON");
    for (const JobView &job : jobs) {
        if (out.size() + 1 >= lines) {
            out.push_back("... " + std::to_string(jobs.size() - (out.size() - 3)) + " more");
            break;
        }
        out.push_back(job_row(job, most, cells, screen.utf8));
    }
    for (std::string &line : out) {
        line = fit(line, screen.columns, false);
        line.erase(line.find_last_not_of(' ') + 1);
    }
    return out;
}

}  // namespace ringrt::ringstat
