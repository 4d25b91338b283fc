// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gradients/trace.h"

#include <cstdio>

namespace ringrt {
namespace {

constexpr size_t kMostEvents = 1'000'000;  // about 100 MB
constexpr uint64_t kRanksOfJob = 1 << 16;

std::string with_rank(const std::string &file, uint64_t job, int rank) {
    const size_t dot = file.rfind('.');
    const size_t slash = file.rfind('/');
    const bool ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
    const std::string number =
        (job > 0 ? "." + std::to_string(job) : "") + "." + std::to_string(rank);
    return ending ? file.substr(0, dot) + number + file.substr(dot) : file + number;
}

std::string escaped(const std::string &text) {
    std::string out;
    for (char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') out += '\\';
        out += code < 32 || code > 126 ? '?' : c;
    }
    return out;
}

}  // namespace

Trace::Trace(const std::string &file, uint64_t job, int rank)
    : file_(file.empty() ? file : with_rank(file, job, rank)),
      who_((job > 0 ? "job " + std::to_string(job) + " " : "") + "rank " + std::to_string(rank)),
      pid_(job * kRanksOfJob + static_cast<uint64_t>(rank)) {}

void Trace::add(Line line, const std::string &name, double start_us, double end_us) {
    if (on() && events_.size() < kMostEvents) events_.push_back({line, name, start_us, end_us});
}

Trace::~Trace() {
    if (!on()) return;
    std::FILE *out = std::fopen(file_.c_str(), "w");
    if (out == nullptr) {
        std::fprintf(stderr, "ringrt: RINGRT_TRACE: %s cannot be written\n", file_.c_str());
        return;
    }
    std::fprintf(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (const char *name : {"gradients", "link", "waits"}) {
        const int line = *name == 'g' ? gradients : *name == 'l' ? link : waits;
        std::fprintf(out,
                     "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%llu,\"tid\":%d,\"args\":{"
                     "\"name\":\"%s\"}},\n",
                     pid_, line, name);
    }
    std::fprintf(out,
                 "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%llu,\"args\":{\"name\":\"%s\"}}",
                 pid_, who_.c_str());
    for (const Event &event : events_) {
        std::fprintf(
            out,
            ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%llu,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f}",
            escaped(event.name).c_str(), pid_, static_cast<int>(event.line), event.start_us,
            event.end_us - event.start_us);
    }
    std::fprintf(out, "]}\n");
    if (std::fclose(out) != 0)
        std::fprintf(stderr, "ringrt: RINGRT_TRACE: %s is incomplete\n", file_.c_str());
}

}  // namespace ringrt
