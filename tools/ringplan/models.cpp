// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringplan/models.h"

#include <array>
#include <numeric>

namespace ringrt::ringplan {

using namespace bucketing;

namespace {

// The stages of ResNet-50's backward pass in the public code of Prophet's authors: the number of
// the gradient at which each begins, and the time in ms after which it becomes ready, at batch 64.
constexpr std::array<uint32_t, 12> kStageFirst = {156, 143, 130, 117, 103, 90,
                                                  77,  62,  50,  35,  22,  9};
constexpr std::array kStageMs = {47, 46, 26, 30, 37, 53, 44, 64, 90, 74, 58, 15};
constexpr int kStageBatch = 64;
constexpr uint64_t kElementBytes = 4;

// A forward pass takes half as long as a backward pass; each layer's time is proportional to its
// operations.
class Builder {
  public:
    Builder(int channels, int size) : channels_(channels), size_(size) {}

    void convolution(std::string name, int to, int kernel, int stride) {
        size_ = (size_ + stride - 1) / stride;
        const double weights = 1.0 * kernel * kernel * channels_ * to;
        add(std::move(name), weights, weights * size_ * size_);
        channels_ = to;
    }
    void bias() { add("bias", channels_, 1.0 * channels_ * size_ * size_); }
    void normalisation() {
        for (const char *name : {"gamma", "beta"})
            add(name, channels_, 1.0 * channels_ * size_ * size_);
    }
    void halve() { size_ /= 2; }
    void dense(int from, int to) {
        add("dense", 1.0 * from * to, 1.0 * from * to);
        channels_ = to, size_ = 1;
        bias();
    }
    // A side branch: `body` starts from the present state, and its end is the input of the next
    // layer.
    template <class Body>
    void beside(std::string name, int to, int stride, Body body) {
        const int channels = channels_, size = size_;
        body();
        const int end_size = size_;
        channels_ = channels, size_ = size;
        convolution(std::move(name), to, 1, stride);
        size_ = end_size;
    }

    [[nodiscard]] double operations() const {
        return std::accumulate(operations_.begin(), operations_.end(), 0.0);
    }
    // Gradients become ready in descending order, one by one.
    Profile profile(double forward_us) {
        const double us = forward_us / operations();
        double ready = 0;
        for (size_t i = gradients_.size(); i-- > 0;) {
            gradients_[i].forward_us = us * operations_[i];
            ready += 2 * us * operations_[i];
            gradients_[i].ready_us = ready;
        }
        return {.name = {}, .gradients = std::move(gradients_)};
    }

  private:
    void add(std::string name, double weights, double operations) {
        gradients_.push_back(
            {std::move(name), static_cast<uint64_t>(weights) * kElementBytes, 0, 0});
        operations_.push_back(operations);
    }

    int channels_, size_;
    std::vector<Gradient> gradients_;
    std::vector<double> operations_;
};

// He et al. 2016, activations before convolutions.
Builder resnet(std::array<int, 4> units, bool bottleneck) {
    Builder out(3, 224);
    out.normalisation();
    out.convolution("conv0", 64, 7, 2);
    out.normalisation();
    out.halve();
    const int last = bottleneck ? 4 : 1;
    for (int stage = 0; stage < 4; ++stage) {
        const int width = 64 << stage;
        for (int unit = 0; unit < units[static_cast<size_t>(stage)]; ++unit) {
            const int stride = unit == 0 && stage > 0 ? 2 : 1;
            const auto body = [&] {
                out.normalisation();
                out.convolution("conv1", width, bottleneck ? 1 : 3, bottleneck ? 1 : stride);
                out.normalisation();
                out.convolution("conv2", width, 3, bottleneck ? stride : 1);
                if (!bottleneck) return;
                out.normalisation();
                out.convolution("conv3", width * last, 1, 1);
            };
            if (unit == 0)
                out.beside("shortcut", width * last, stride, body);
            else
                body();
        }
    }
    out.normalisation();
    out.dense(512 * last, 1000);
    return out;
}

Builder vgg19() {
    Builder out(3, 224);
    for (const auto &[width, layers] :
         std::array<std::array<int, 2>, 5>{{{64, 2}, {128, 2}, {256, 4}, {512, 4}, {512, 4}}}) {
        for (int layer = 0; layer < layers; ++layer) {
            out.convolution("conv", width, 3, 1);
            out.bias();
        }
        out.halve();
    }
    out.dense(512 * 7 * 7, 4096);
    out.dense(4096, 4096);
    out.dense(4096, 1000);
    return out;
}

double stages_us() { return 1e3 * std::accumulate(kStageMs.begin(), kStageMs.end(), 0); }

// At the speed at which ResNet-50 takes the time in the authors' table.
Profile at_their_speed(std::string_view name, Builder builder, int batch) {
    const double us_per_operation =
        stages_us() / 2 / kStageBatch / resnet({3, 4, 6, 3}, true).operations();
    Profile out = builder.profile(us_per_operation * builder.operations() * batch);
    out.name = std::string(name) + ", batch " + std::to_string(batch);
    return out;
}

Profile resnet18(int batch) {
    return at_their_speed("ResNet-18", resnet({2, 2, 2, 2}, false), batch);
}
Profile resnet152(int batch) {
    return at_their_speed("ResNet-152", resnet({3, 8, 36, 3}, true), batch);
}
Profile vgg(int batch) { return at_their_speed("VGG-19", vgg19(), batch); }

}  // namespace

Profile stepwise_resnet50(int batch) {
    Profile out = at_their_speed("ResNet-50", resnet({3, 4, 6, 3}, true), batch);
    double ready_us = 0;
    for (size_t stage = 0; stage < kStageFirst.size(); ++stage) {
        ready_us += 1e3 * kStageMs[stage] * batch / kStageBatch;
        const uint32_t end = stage + 1 < kStageFirst.size() ? kStageFirst[stage + 1] + 1 : 0;
        for (uint32_t id = end; id <= kStageFirst[stage]; ++id)
            out.gradients[id].ready_us = ready_us;
    }
    return out;
}

Profile scaled(Profile profile, double factor) {
    for (Gradient &gradient : profile.gradients) {
        gradient.ready_us *= factor;
        gradient.forward_us *= factor;
    }
    return profile;
}

const std::vector<Model> &models() {
    static const std::vector<Model> all = {{"ResNet-18", resnet18},
                                           {"ResNet-50", stepwise_resnet50},
                                           {"ResNet-152", resnet152},
                                           {"VGG-19", vgg}};
    return all;
}

}  // namespace ringrt::ringplan
