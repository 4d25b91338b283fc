// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gradients/learned.h"

#include <charconv>
#include <cmath>

#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/timeline.h"
#include "libringrt/schedule/cost_model.h"

namespace ringrt {

using namespace bucketing;

namespace {

constexpr std::string_view kVersion = "1";
constexpr double kMaxGbps = 1e6;
constexpr double kMaxSamples = 1e12;

// printf's decimal point depends on the program's locale.
void append(std::string &out, double value) {
    char digits[32];
    const auto [end, error] =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6);
    out += ' ';
    out.append(digits, error == std::errc() ? end : digits);
}

class Words {
  public:
    explicit Words(std::string_view text) : rest_(text) {}

    template <typename Number>
    bool number(Number &out, Number most) {
        const std::string_view word = next();
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
        return error == std::errc() && end == word.data() + word.size() && out >= 0 && out <= most;
    }
    std::string_view next() {
        const size_t end = std::min(rest_.find(' '), rest_.size());
        const std::string_view word = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        return word;
    }
    [[nodiscard]] size_t left() const { return rest_.size(); }

  private:
    std::string_view rest_;
};

}  // namespace

std::string format_learned(const Learned &learned) {
    std::string out(kVersion);
    out += ' ' + std::to_string(learned.plan_version);
    for (double value : {learned.samples_per_rank, learned.gbps, learned.alpha_us})
        append(out, value);
    out += ' ' + std::to_string(learned.profile.gradients.size());
    for (const Gradient &gradient : learned.profile.gradients) {
        out += ' ' + std::to_string(gradient.bytes);
        append(out, gradient.ready_us);
        append(out, gradient.forward_us);
        if (out.size() > kLearnedBytesMax) return {};
    }
    return out;
}

std::optional<Learned> parse_learned(std::string_view text) {
    if (text.size() > kLearnedBytesMax) return std::nullopt;
    Words words(text);
    Learned out;
    size_t gradients = 0;
    if (words.next() != kVersion || !words.number(out.plan_version, UINT64_MAX) ||
        !words.number(out.samples_per_rank, kMaxSamples) || !words.number(out.gbps, kMaxGbps) ||
        !words.number(out.alpha_us, kMaxTimeUs) || !words.number(gradients, kMaxGradients))
        return std::nullopt;
    for (size_t i = 0; i < gradients; ++i) {
        Gradient gradient;
        if (!words.number(gradient.bytes, kMaxGradientBytes) ||
            !words.number(gradient.ready_us, kMaxTimeUs) ||
            !words.number(gradient.forward_us, kMaxTimeUs))
            return std::nullopt;
        out.profile.gradients.push_back(std::move(gradient));
    }
    if (words.left() > 0) return std::nullopt;
    return out;
}

Profile profile_at(const Learned &learned, double samples_per_rank) {
    Profile out = learned.profile;
    if (!(learned.samples_per_rank > 0 && samples_per_rank > 0)) return out;
    const double factor = samples_per_rank / learned.samples_per_rank;
    for (Gradient &gradient : out.gradients) {
        gradient.ready_us = std::min(gradient.ready_us * factor, kMaxTimeUs);
        gradient.forward_us = std::min(gradient.forward_us * factor, kMaxTimeUs);
    }
    return out;
}

// Network charges a phase (ranks − 1)·α, which holds for the size at which α was measured. The
// messages of one phase overlap, so at other sizes the latency follows the cost model.
static double alpha_at(double alpha_us, int measured_ranks, int ranks) {
    if (measured_ranks < 2 || ranks < 2) return alpha_us;
    const double measured_us = alpha_us * (measured_ranks - 1);
    return measured_us * exchange_latency(ranks) / exchange_latency(measured_ranks) / (ranks - 1);
}

double planned_step_ms(const Rule &rule, const Learned &learned, int measured_ranks, int ranks,
                       double samples_per_rank) {
    if (!(learned.gbps > 0) && ranks > 1) return 0;
    const Profile profile = profile_at(learned, samples_per_rank);
    if (ranks == 1) return (backward_us(profile) + forward_us(profile)) / 1e3;
    const double alpha_us = alpha_at(learned.alpha_us, measured_ranks, ranks);
    const Network network{learned.gbps, alpha_us, ranks};
    return simulate(profile, network, rule.plan(profile, network)).iteration_us / 1e3;
}

}  // namespace ringrt
