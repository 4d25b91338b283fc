// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringbench/replay.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "libringrt/base/clock.h"
#include "libringrt/gradients/packed_plan.h"

namespace ringrt::bench {

using namespace bucketing;

void need(const Communicator &communicator, ringrt_status_t status) {
    if (status != RINGRT_OK) throw std::runtime_error(communicator.last_error());
}

namespace {

constexpr double kRealWaitUs = 100;

void check(const Status &result) {
    if (result.code != RINGRT_OK) throw std::runtime_error(result.message);
}

// Rank 0's plan, on every rank.
Plan agreed_plan(Communicator &communicator, const Plan &mine) {
    std::vector<uint64_t> words;
    if (communicator.rank() == 0) words = packed(mine);
    uint64_t size = words.size();
    need(communicator, communicator.broadcast(&size, sizeof size, 0));
    words.resize(size);
    need(communicator, communicator.broadcast(words.data(), size * sizeof size, 0));
    return unpacked(words).value();
}

// Sleeps until the time at which the computation would end.
void compute_until(Replay::Clock::time_point start, double us) {
    std::this_thread::sleep_until(start + std::chrono::duration_cast<Replay::Clock::duration>(
                                              std::chrono::duration<double, std::micro>(us)));
}

}  // namespace

double Replay::us_since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

Replay::Replay(Communicator &communicator, const Profile &profile, const Plan &plan,
               std::vector<std::vector<float>> &buffers)
    : profile_(profile),
      buffers_(buffers),
      order_(ready_order(profile)),
      plan_(agreed_plan(communicator, plan)),
      exchange_(communicator, {.plan = plan_}) {
    for (const Gradient &gradient : profile.gradients) {
        int id = 0;
        check(exchange_.add(gradient.name, gradient.bytes / 4, &id));
    }
}

double Replay::iterate() {
    const Clock::time_point start = Clock::now();
    for (uint32_t id : order_) {
        compute_until(start, profile_.gradients[id].ready_us);
        const double begun = thread_cpu_us();
        check(exchange_.ready(static_cast<int>(id), buffers_[id].data()));
        calls_cpu_us_ += thread_cpu_us() - begun;
    }
    double now = backward_us(profile_);
    compute_until(start, now);
    for (size_t i = 0; i < profile_.gradients.size(); ++i) {
        const double before = us_since(start), begun = thread_cpu_us();
        check(exchange_.wait(static_cast<int>(i), nullptr));
        calls_cpu_us_ += thread_cpu_us() - begun;
        const double after = us_since(start);
        // A sleep that overran is not a wait: the next sleeps make up for it.
        if (after - before > kRealWaitUs) now = std::max(now, after);
        now += profile_.gradients[i].forward_us;
        compute_until(start, now);
    }
    return us_since(start);
}

}  // namespace ringrt::bench
