// SPDX-License-Identifier: BSD-3-Clause
// The page to share: the verdict, before and after over time, which jobs gain and lose, and the
// assumptions. Self-contained; light or dark as the reader's browser is set.
#include <algorithm>
#include <ctime>

#include "sim/engine/policy_spec.h"
#include "sim/workload/csv.h"
#include "tools/ringsim/format.h"
#include "tools/ringsim/plot.h"
#include "tools/ringsim/report.h"
#include "tools/ringsim/verdict.h"

namespace ringrt::sim {
namespace {

constexpr std::size_t kBins = 400;
constexpr std::size_t kSpansMax = 20000;  // a page with more cannot be opened
constexpr std::size_t kUsersShown = 20;

constexpr const char *kHead =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
    "content=\"width=device-width\"><title>ringsim</title><style>\n"
    ":root{color-scheme:light dark;--ink:#222;--paper:#fff;--grid:#ddd;--dim:#777;--before:#8d99ae;"
    "--after:#457b9d;--bad:#d14343}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#181a1b;--grid:#3a3d40;--dim:#999;"
    "--before:#8d99ae;--after:#6fb1d8;--bad:#ff7b72}}\n"
    "body{font-family:sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:var(--ink);"
    "background:var(--paper)}\n"
    "table{border-collapse:collapse;margin:.6em 0}td,th{padding:.2em .7em;border-bottom:1px solid "
    "var(--grid);text-align:right}td:first-child,th:first-child{text-align:left}\n"
    ".bad{color:var(--bad)}.dim{color:var(--dim)}svg{width:100%;font-size:12px}\n"
    "svg text{fill:var(--ink)}svg .title{font-weight:bold}svg .tick{fill:var(--dim)}\n"
    "svg path{fill:none;stroke-width:1.6}.grid{stroke:var(--grid);stroke-width:1}\n"
    ".before{stroke:var(--before)}.after{stroke:var(--after);stroke-width:2.2}"
    ".other{stroke:var(--grid)}\n</style></head><body>\n";

struct Range {
    double from = 0, to = 0;
};

Range range_of(std::span<const RunView> views) {
    Range out{.from = views[0].workload->jobs.front().submit_s, .to = 0};
    for (const RunView &view : views) out.to = std::max(out.to, view.run->makespan_s);
    return {out.from, std::max(out.to, out.from + 1)};
}

std::vector<std::pair<double, double>> gpus_held(const RunResult &run) {
    std::vector<std::pair<double, double>> changes;
    for (const Span &span : run.spans) {
        changes.emplace_back(span.from_s, span.gpus);
        changes.emplace_back(span.to_s, -span.gpus);
    }
    return changes;
}

std::vector<std::pair<double, double>> jobs_waiting(const RunView &view) {
    std::vector<std::pair<double, double>> changes;
    for (std::size_t i = 0; i < view.run->jobs.size(); ++i) {
        if (view.run->jobs[i].start_s < 0) continue;
        changes.emplace_back(view.workload->jobs[i].submit_s, 1);
        changes.emplace_back(view.run->jobs[i].start_s, -1);
    }
    return changes;
}

std::vector<std::pair<double, double>> share_done(const RunView &view) {
    std::vector<double> jct;
    for (std::size_t i = 0; i < view.run->jobs.size(); ++i)
        if (view.run->jobs[i].finish_s >= 0)
            jct.push_back(view.run->jobs[i].finish_s - view.workload->jobs[i].submit_s);
    std::sort(jct.begin(), jct.end());
    std::vector<std::pair<double, double>> out;
    const std::size_t stride = std::max<std::size_t>(1, jct.size() / 2000);
    for (std::size_t i = 0; i < jct.size(); i += stride)
        out.emplace_back(jct[i], 100 * double(i + 1) / double(jct.size()));
    return out;
}

// The first run is the actual one, the last the alternative.
const char *colour_of(std::size_t run, std::size_t runs) {
    return run + 1 == runs ? "after" : run == 0 ? "before" : "other";
}

std::string pictures(std::span<const RunView> views, const SimOptions &options) {
    const Range range = range_of(views);
    const Axis axis = views[0].workload->has_dates ? Axis::dates : Axis::elapsed;
    const double gpus = double(options.nodes) * options.gpus_per_node;
    Plot held{.title = "GPUs held", .unit = " %", .axis = axis, .y_max = 100, .series = {}};
    Plot waiting{
        .title = "Jobs waiting for their first GPU", .unit = "", .axis = axis, .series = {}};
    Plot done{.title = "Jobs done within a time of their submission",
              .unit = " %",
              .axis = Axis::durations,
              .y_max = 100,
              .series = {}};
    for (std::size_t i = 0; i < views.size(); ++i) {
        const std::string name = views[i].run->policy;
        const char *colour = colour_of(i, views.size());
        auto in_use = binned(gpus_held(*views[i].run), range.from, range.to, kBins);
        for (auto &point : in_use) point.second *= 100 / gpus;
        held.series.push_back({name, colour, std::move(in_use)});
        waiting.series.push_back(
            {name, colour, binned(jobs_waiting(views[i]), range.from, range.to, kBins)});
        done.series.push_back({name, colour, share_done(views[i])});
    }
    return plot_svg(held) + plot_svg(waiting) + plot_svg(done);
}

std::string groups(const char *what, std::span<const Group> rows) {
    std::string out = "<table><tr><th>";
    append(out,
           "%s<th>jobs<th>completion before<th>after<th>change<th>waiting before<th>after<th>later"
           "<th>worst</tr>\n",
           what);
    for (const Group &row : rows)
        append(out,
               "<tr><td>%s<td>%zu<td>%s<td>%s<td%s>%+.0f %%<td>%s<td>%s<td%s>%zu<td%s>%.1f&times;"
               "</tr>\n",
               escaped(row.name).c_str(), row.jobs, duration_text(row.mean_before_s).c_str(),
               duration_text(row.mean_after_s).c_str(),
               row.mean_after_s > kLaterBy * row.mean_before_s ? " class=\"bad\"" : "",
               100 * row.change(), duration_text(row.wait_before_s).c_str(),
               duration_text(row.wait_after_s).c_str(), row.later > 0 ? " class=\"bad\"" : "",
               row.later, row.worst > kLaterBy ? " class=\"bad\"" : "", row.worst);
    return out + "</table>\n";
}

std::string runs_table(std::span<const Summary> runs) {
    std::string out =
        "<table><tr><th>policy<th>knows<th>jobs<th>mean<th>p99<th>median<th>makespan<th>GPU hours"
        "<th>held<th>restarts per job<th>GPU hours lost<th>unfair</tr>\n";
    for (const Summary &run : runs)
        append(out,
               "<tr><td>%s, %s<td title=\"%s\">%s<td>%zu<td>%s<td>%s<td>%s<td>%s<td>%.0f<td>%.0f %%"
               "<td>%.2f<td>%.1f<td>%.2f</tr>\n",
               escaped(run.policy).c_str(), escaped(run.workload).c_str(),
               escaped(knowledge_description(run.knows)).c_str(), escaped(run.knows).c_str(),
               run.jobs, duration_text(run.mean_jct_s).c_str(),
               duration_text(run.p99_jct_s).c_str(), duration_text(run.median_jct_s).c_str(),
               duration_text(run.makespan_s).c_str(), run.gpu_hours, 100 * run.utilisation,
               run.restarts_per_job, run.lost_gpu_s / 3600, run.worst_fairness);
    return out + "</table>\n";
}

std::string verdict_part(const Verdict &v) {
    std::string out = "<h1>" + escaped(v.workload) + ": ";
    append(out, "mean completion %+.0f %%</h1>\n<p><b>", 100 * v.all.change());
    append(out, "%zu of %zu jobs later by over 5 %%, the worst %.1f&times;</b>; ", v.all.later,
           v.all.jobs, v.all.worst);
    append(out, "waiting %s &rarr; %s on average. ", duration_text(v.all.wait_before_s).c_str(),
           duration_text(v.all.wait_after_s).c_str());
    return out + "<b>" + escaped(v.after) + "</b> against <b>" + escaped(v.before) + "</b>.</p>\n";
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c >= ' ' && c <= '~' ? c : '?';
    }
    return out;
}

std::string html(const Report &report) {
    std::string out = kHead;
    if (report.verdicts.empty()) out += "<h1>ringsim</h1>\n";
    for (const Verdict &v : report.verdicts) out += verdict_part(v);
    for (std::size_t first = 0; first < report.views.size();) {
        std::size_t end = first + 1;
        while (end < report.views.size() &&
               report.views[end].workload == report.views[first].workload)
            ++end;
        const auto views = std::span(report.views).subspan(first, end - first);
        const Range range = range_of(views);
        if (views[0].workload->has_dates)
            out += "<p class=\"dim\">" + date_text(range.from, false) + " to " +
                   date_text(range.to, false) + "</p>\n";
        out += pictures(views, report.options);
        first = end;
    }
    out += "<h2>Policies</h2>\n" + runs_table(report.summaries);
    for (const Verdict &v : report.verdicts) {
        out +=
            "<h2>Gains and losses: " + escaped(v.after) + "</h2>\n" + groups("size asked", v.sizes);
        const std::size_t users = std::min(kUsersShown, v.users.size());
        if (users > 0) out += groups("user", std::span(v.users).first(users));
    }
    out += "<h2>Assumed</h2><ul>\n";
    for (const std::string &line : report.assumptions) out += "<li>" + escaped(line) + "\n";
    out += "</ul>\n";
    if (!report.command.empty()) out += "<p><code>" + escaped(report.command) + "</code></p>\n";
    for (const RunView &view : report.views)
        if (!view.run->spans.empty() && view.run->spans.size() <= kSpansMax)
            out += "<details><summary>" + escaped(view.run->workload) + ", " +
                   escaped(view.run->policy) + ": GPU allocation over time</summary>\n" +
                   timeline_svg(*view.workload, *view.run, report.options) + "</details>\n";
    return out + "</body></html>\n";
}

}  // namespace ringrt::sim
