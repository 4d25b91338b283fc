// SPDX-License-Identifier: BSD-3-Clause
// ringfit: fits speed and loss models to samples, and prints residuals and the best size.
#include <build_config.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/workload/csv.h"
#include "tools/ringfit/fit.h"
#include "tools/ringsim/report.h"
#include "tools/usage.h"

namespace ringrt::fit {
namespace {

struct Arguments {
    std::string file, svg_path, json_path;
    int job = 0, gpus_max = 64;
    double threshold = 0.01, window = 0;
};

// The comment of a running job, by squeue: needs no rights beyond its user's.
std::string comment_of_job(int job) {
    const std::string command = "squeue --noheader --jobs=" + std::to_string(job) + " --format=%k";
    std::FILE *pipe = ::popen(command.c_str(), "r");
    if (!pipe) throw sim::InputError("squeue cannot be run");
    std::string text(8192, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), pipe));
    if (::pclose(pipe) != 0) throw sim::InputError("squeue shows no job " + std::to_string(job));
    return text;
}

Samples read_samples(const Arguments &a) {
    if (a.job > 0) return from_telemetry(comment_of_job(a.job), "job " + std::to_string(a.job));
    sim::TextFile file = sim::read_file(a.file);
    if (file.text.find("ringrt/1 ") != std::string::npos) return from_telemetry(file.text, a.file);
    return from_csv(std::move(file));
}

void print(const Samples &samples, const Fit &fit, const Arguments &a) {
    if (fit.speed) {
        const auto &t = fit.speed->t;
        std::printf("step time on w GPUs [ms] = %.6g/w + %.6g(w-1) + %.6g(w-1)/w + %.6g\n", t[0],
                    t[1], t[2], t[3]);
        if (fit.sizes_measured < 2)
            std::puts(
                "one size measured: the usual curve (90 % shrinks with the GPUs), scaled to it");
        std::puts("    GPUs  measured ms    fitted ms  residual");
        for (const model::SpeedSample &s : samples.speed)
            std::printf("%8d %12.3f %12.3f %8.1f%%\n", s.gpus, s.step_ms,
                        fit.speed->step_ms(s.gpus),
                        100 * (fit.speed->step_ms(s.gpus) / s.step_ms - 1));
        std::puts("    GPUs  fitted ms  speed-up  efficiency");
        for (int gpus = 1; gpus <= a.gpus_max; gpus *= 2) {
            const double speedup = fit.speed->step_ms(1) / fit.speed->step_ms(gpus);
            std::printf("%8d %10.3f %9.2f %10.0f%%%s%s\n", gpus, fit.speed->step_ms(gpus), speedup,
                        100 * speedup / gpus, gpus == fit.fastest ? "  fastest" : "",
                        gpus == fit.efficient ? "  largest at 50 % efficiency" : "");
        }
    }
    if (fit.loss)
        std::printf(
            "loss after k steps = 1/(%.6g k + %.6g) + %.6g, residual %.3g (rms)\n"
            "%.0f steps more until it falls by less than %g in %.0f steps\n",
            fit.loss->b0, fit.loss->b1, fit.loss->b2, fit.loss->rms, fit.steps_left, a.threshold,
            fit.window);
    else if (!samples.loss.empty())
        std::puts("loss: at least 3 samples of a loss that falls are needed");
}

int run(int argc, char **argv) {
    CLI::App app{"ringfit: fit the speed and loss models of a training job"};
    set_style(app, "ringfit");
    app.footer(exit_statuses());
    Arguments a;
    auto *file =
        app.add_option("FILE", a.file,
                       "CSV with the columns gpus,step_ms or step,loss (or all four), or a "
                       "job's telemetry (ringrt/1 ...)");
    auto *job = app.add_option("-j,--job", a.job, "a running job's telemetry, through squeue")
                    ->check(CLI::Range(1, 2147483647));
    file->excludes(job);
    app.add_option("--max", a.gpus_max, "largest size to predict")
        ->check(CLI::Range(1, 65536))
        ->capture_default_str();
    app.add_option("--threshold", a.threshold, "a loss that falls by less has converged")
        ->check(CLI::Range(0.0, 1e9))
        ->capture_default_str();
    app.add_option("--window", a.window,
                   "steps over which --threshold applies (default: a tenth of those seen)")
        ->check(CLI::Range(0.0, 1e15));
    app.add_option("--svg", a.svg_path, "plot samples and fit");
    app.add_option("--json", a.json_path, "write the models as JSON (- for standard output)");
    try {
        app.parse(argc, argv);
        if (a.file.empty() && a.job == 0) throw CLI::RequiredError("FILE or --job");
    } catch (const CLI::ParseError &error) {
        return end_of_usage(app, error, "ringfit");
    }
    const Samples samples = read_samples(a);
    const Fit fit = fit_all(samples, a.gpus_max, a.window, a.threshold);
    if (a.json_path != "-") print(samples, fit, a);
    if (!a.json_path.empty()) sim::write_file(a.json_path, to_json(samples, fit));
    if (!a.svg_path.empty()) sim::write_file(a.svg_path, to_svg(samples, fit, a.gpus_max));
    return 0;
}

}  // namespace
}  // namespace ringrt::fit

int main(int argc, char **argv) {
    try {
        return ringrt::end_of_output(ringrt::fit::run(argc, argv), "ringfit");
    } catch (const ringrt::sim::InputError &error) {
        std::fprintf(stderr, "ringfit: %s\n", error.what());
        return 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ringfit: internal error: %s\n", error.what());
        return 1;
    }
}
