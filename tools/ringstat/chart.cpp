// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNameColumns = 12, kLeast = 20;
constexpr std::string_view kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

tm local(double time_s) {
    const auto seconds = static_cast<time_t>(time_s);
    tm parts{};
    (void)localtime_r(&seconds, &parts);
    return parts;
}

// The symbol for a size. Blocks: height by its logarithm, full for the largest. Without UTF-8: a
// digit or a letter.
class Symbols {
  public:
    Symbols(std::vector<int> sizes, bool utf8) : sizes_(std::move(sizes)), utf8_(utf8) {}

    [[nodiscard]] std::string of(int gpus) const {
        if (!utf8_) return plain(gpus);
        const double low = std::log2(sizes_.front()), high = std::log2(sizes_.back());
        const double part = (std::log2(gpus) - low + 1) / (high - low + 1);
        return std::string(kBlocks[static_cast<std::size_t>(std::lround(part * 8)) - 1]);
    }

    [[nodiscard]] std::string legend() const {
        std::string out = "GPUs:";
        for (const int gpus : sizes_) out += " " + of(gpus) + " " + std::to_string(gpus) + " ";
        return out + " . waits";
    }

  private:
    [[nodiscard]] std::string plain(int gpus) const {
        if (gpus < 10) return std::to_string(gpus);
        const auto large = std::ranges::lower_bound(sizes_, 10);
        const auto place = static_cast<std::size_t>(std::ranges::lower_bound(sizes_, gpus) - large);
        return std::string(1, kLetters[std::min(place, kLetters.size() - 1)]);
    }

    std::vector<int> sizes_;
    bool utf8_;
};

std::string axis(const Timeline &timeline, std::size_t cells) {
    const double whole_s = timeline.end_s - timeline.start_s;
    std::string line(cells, ' ');
    const std::size_t label = clock_text(timeline.start_s, whole_s).size() + 3;
    const int most = static_cast<int>(std::max<std::size_t>(1, cells / label));
    for (const double mark : clock_marks(timeline.start_s, timeline.end_s, most)) {
        const std::string text = clock_text(mark, whole_s);
        const auto at = static_cast<std::size_t>((mark - timeline.start_s) / whole_s *
                                                 static_cast<double>(cells));
        if (at + text.size() <= cells) line.replace(at, text.size(), text);
    }
    return line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string clock_text(double time_s, double whole_s) {
    const tm parts = local(time_s);
    char text[32] = "?";
    if (whole_s > 2 * 86400)
        (void)std::strftime(text, sizeof text, "%b %d %H:%M", &parts);
    else if (whole_s > 900)
        (void)std::strftime(text, sizeof text, "%H:%M", &parts);
    else
        (void)std::strftime(text, sizeof text, "%H:%M:%S", &parts);
    return text;
}

std::vector<double> clock_marks(double start_s, double end_s, int most) {
    static constexpr std::array<double, 20> kEvery{1,    2,     5,     10,    15,    20,    30,
                                                   60,   120,   300,   600,   900,   1800,  3600,
                                                   7200, 10800, 21600, 43200, 86400, 604800};
    double every = kEvery.back();
    for (const double candidate : kEvery)
        if ((end_s - start_s) / candidate <= most) {
            every = candidate;
            break;
        }
    while ((end_s - start_s) / every > most) every *= 2;
    // Whole units in local time: an hour's mark is on the hour, a day's at midnight.
    const auto offset_s = static_cast<double>(local(start_s).tm_gmtoff);
    std::vector<double> marks;
    double mark = std::ceil((start_s + offset_s) / every) * every - offset_s;
    for (; mark < end_s; mark += every) marks.push_back(mark);
    return marks;
}

std::string chart_text(const Timeline &timeline, const Screen &screen) {
    constexpr std::size_t kLeft = 9 + 1 + kNameColumns + 1;
    const std::size_t cells = std::max(screen.columns, kLeft + kLeast) - kLeft;
    const double step_s = (timeline.end_s - timeline.start_s) / static_cast<double>(cells);
    const Symbols symbols(sizes_of(timeline), screen.utf8);
    std::string out;
    for (const JobLane &lane : timeline.lanes) {
        std::string line = name_cell(printable(shown_name(lane.id, lane.task)), 9) + " " +
                           fit(printable(lane.name), kNameColumns, false) + " ";
        for (std::size_t cell = 0; cell < cells; ++cell) {
            const int gpus =
                gpus_at(lane, timeline.start_s + (static_cast<double>(cell) + 0.5) * step_s);
            line += gpus > 0 ? symbols.of(gpus) : gpus == 0 ? "." : " ";
        }
        out += line.erase(line.find_last_not_of(' ') + 1) + "\n";
    }
    out += std::string(kLeft, ' ') + axis(timeline, cells) + "\n";
    return out + std::string(kLeft, ' ') + symbols.legend() + "\n";
}

std::string chart_json(const Timeline &timeline) {
    Json jobs = Json::array();
    for (const JobLane &lane : timeline.lanes) {
        Json phases = Json::array();
        for (const Phase &phase : lane.phases)
            phases.push_back({{"start", phase.start_s},
                              {"end", phase.end_s},
                              {"gpus", phase.gpus},
                              {"reason", camel_case(phase.reason)}});
        jobs.push_back({{"id", lane.id},
                        {"array_task", lane.task.empty() ? Json(nullptr) : Json(lane.task)},
                        {"name", lane.name},
                        {"resizes", lane.resizes},
                        {"end", lane.end.empty() ? Json(nullptr) : Json(lane.end)},
                        {"phases", phases}});
    }
    const Json all = {{"start", timeline.start_s}, {"end", timeline.end_s}, {"jobs", jobs}};
    return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ringrt::ringstat
