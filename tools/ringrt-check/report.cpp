// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringrt-check/report.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "build_config.h"

namespace ringrt::check {
namespace {

struct LevelName {
    const char *text, *json;
};
constexpr std::array<LevelName, 4> kLevels = {
    {{"ok", "ok"}, {"note", "note"}, {"WARNING", "warning"}, {"WRONG", "wrong"}}};

LevelName name_of(Level level) { return kLevels.at(static_cast<std::size_t>(level)); }

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        char hex[8];
        if (static_cast<unsigned char>(c) < 0x20) {
            std::snprintf(hex, sizeof hex, "\\u%04x", static_cast<unsigned>(c));
            out += hex;
        } else {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
    }
    return out + "\"";
}

}  // namespace

bool fits(std::span<const Finding> findings) {
    return std::ranges::none_of(findings, [](const Finding &f) { return f.level == Level::wrong; });
}

std::string report_text(std::span<const Finding> findings, bool quiet) {
    std::string out;
    for (const Finding &finding : findings) {
        if (quiet && finding.level < Level::warning) continue;
        char level[16];
        std::snprintf(level, sizeof level, "%-8s", name_of(finding.level).text);
        out += level + finding.message + "\n";
    }
    const auto wrong = std::ranges::count(findings, Level::wrong, &Finding::level);
    if (wrong > 0)
        out += std::to_string(wrong) + (wrong == 1 ? " thing does" : " things do") + " not fit\n";
    else if (!quiet)
        out += "everything fits\n";
    return out;
}

std::string report_json(const Site &site, std::string_view where,
                        std::span<const Finding> findings) {
    std::string out = "{\"program\": \"ringrt-check\", \"version\": \"" PACKAGE_VERSION "\",\n";
    out += " \"checked\": " + quoted(where) + ", \"slurm_conf\": " + quoted(site.conf.path) + ",\n";
    out += " \"slurm_version\": " + (site.slurm ? quoted(site.slurm->text()) : "null") + ",\n";
    out += std::string(" \"fits\": ") + (fits(findings) ? "true" : "false") + ",\n \"findings\": [";
    for (const Finding &finding : findings) {
        if (&finding != findings.data()) out += ",";
        out += "\n  {\"level\": " + quoted(name_of(finding.level).json) +
               ", \"check\": " + quoted(finding.check) +
               ", \"message\": " + quoted(finding.message) + "}";
    }
    return out + "\n ]}\n";
}

}  // namespace ringrt::check
