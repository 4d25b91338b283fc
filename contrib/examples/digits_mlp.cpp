// SPDX-License-Identifier: BSD-3-Clause
#include "digits_mlp.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace digits {
namespace {

// Uniform in [−1, 1): not std::uniform_real_distribution, whose values differ between libraries.
float uniform(std::mt19937_64 &random) {
    return static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
}

void softmax(std::span<float> values) {
    const float top = *std::max_element(values.begin(), values.end());
    float sum = 0;
    for (float &value : values) sum += value = std::exp(value - top);
    for (float &value : values) value /= sum;
}

}  // namespace

Mlp::Mlp(std::vector<std::size_t> widths, uint64_t seed) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
        const std::size_t in = widths[i], out = widths[i + 1];
        layers_.push_back({.in = in, .out = out, .weights = offset, .biases = offset + in * out});
        offset += in * out + out;
        outputs_.emplace_back(out);
        deltas_.emplace_back(out);
    }
    parameters_.resize(offset);
    std::mt19937_64 random(seed);
    for (const Layer &layer : layers_) {
        const float limit = std::sqrt(6.0F / static_cast<float>(layer.in + layer.out));
        for (std::size_t i = layer.weights; i < layer.biases; ++i)
            parameters_[i] = limit * uniform(random);
    }
}

std::span<const float> Mlp::forward(std::span<const float> image) {
    std::span<const float> input = image;
    for (std::size_t k = 0; k < layers_.size(); ++k) {
        const Layer &layer = layers_[k];
        const bool last = k + 1 == layers_.size();
        for (std::size_t o = 0; o < layer.out; ++o) {
            const float *w = &parameters_[layer.weights + o * layer.in];
            float sum = parameters_[layer.biases + o];
            for (std::size_t i = 0; i < layer.in; ++i) sum += w[i] * input[i];
            outputs_[k][o] = last ? sum : std::tanh(sum);
        }
        input = outputs_[k];
    }
    softmax(outputs_.back());
    return outputs_.back();
}

// Expects deltas_.back() to hold the last layer's.
void Mlp::backward(std::span<const float> image, std::span<float> gradient) {
    for (std::size_t k = layers_.size(); k-- > 0;) {
        const Layer &layer = layers_[k];
        const std::span<const float> input =
            k == 0 ? image : std::span<const float>(outputs_[k - 1]);
        if (k > 0) std::fill(deltas_[k - 1].begin(), deltas_[k - 1].end(), 0.0F);
        for (std::size_t o = 0; o < layer.out; ++o) {
            const float delta = deltas_[k][o];
            const float *w = &parameters_[layer.weights + o * layer.in];
            float *dw = &gradient[layer.weights + o * layer.in];
            for (std::size_t i = 0; i < layer.in; ++i) dw[i] += delta * input[i];
            gradient[layer.biases + o] += delta;
            if (k > 0)
                for (std::size_t i = 0; i < layer.in; ++i) deltas_[k - 1][i] += delta * w[i];
        }
        if (k > 0)  // tanh' = 1 − tanh²
            for (std::size_t i = 0; i < layer.in; ++i)
                deltas_[k - 1][i] *= 1.0F - input[i] * input[i];
    }
}

double Mlp::add_gradient(std::span<const float> image, std::size_t label,
                         std::span<float> gradient) {
    const std::span<const float> probability = forward(image);
    std::copy(probability.begin(), probability.end(), deltas_.back().begin());
    deltas_.back()[label] -= 1.0F;  // cross entropy of a softmax: p − onehot
    backward(image, gradient);
    return -std::log(std::max(static_cast<double>(probability[label]), 1e-30));
}

std::size_t Mlp::classify(std::span<const float> image) {
    const std::span<const float> probability = forward(image);
    return static_cast<std::size_t>(std::max_element(probability.begin(), probability.end()) -
                                    probability.begin());
}

}  // namespace digits
