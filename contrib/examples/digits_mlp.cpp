// SPDX-License-Identifier: BSD-3-Clause
#include "digits_mlp.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace digits {
namespace {

// Uniform in [−1, 1). Not std::uniform_real_distribution, whose values differ between libraries.
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
    }
    outputs_.resize(layers_.size());
    deltas_.resize(layers_.size());
    parameters_.resize(offset);
    std::mt19937_64 random(seed);
    for (const Layer &layer : layers_) {
        const float limit = std::sqrt(6.0F / static_cast<float>(layer.in + layer.out));
        for (std::size_t i = layer.weights; i < layer.biases; ++i)
            parameters_[i] = limit * uniform(random);
    }
}

std::span<float> Mlp::of_layer(std::size_t layer, std::span<float> all) const {
    const Layer &l = layers_[layer];
    return all.subspan(l.weights, l.biases + l.out - l.weights);
}

std::span<const float> Mlp::input(std::size_t layer, std::size_t image) const {
    if (layer == 0) return batch_[image].pixels;
    const std::size_t in = layers_[layer].in;
    return std::span(outputs_[layer - 1]).subspan(image * in, in);
}

std::span<float> Mlp::output(std::size_t layer, std::size_t image) {
    const std::size_t out = layers_[layer].out;
    return std::span(outputs_[layer]).subspan(image * out, out);
}

std::span<float> Mlp::delta(std::size_t layer, std::size_t image) {
    const std::size_t out = layers_[layer].out;
    return std::span(deltas_[layer]).subspan(image * out, out);
}

void Mlp::start(std::vector<Image> batch) {
    batch_ = std::move(batch);
    for (std::size_t k = 0; k < layers_.size(); ++k) {
        outputs_[k].resize(batch_.size() * layers_[k].out);
        deltas_[k].resize(batch_.size() * layers_[k].out);
    }
}

void Mlp::forward(std::size_t layer) {
    const Layer &l = layers_[layer];
    const bool last = layer + 1 == layers_.size();
    for (std::size_t image = 0; image < batch_.size(); ++image) {
        const std::span<const float> in = input(layer, image);
        const std::span<float> out = output(layer, image);
        for (std::size_t o = 0; o < l.out; ++o) {
            const float *w = &parameters_[l.weights + o * l.in];
            float sum = parameters_[l.biases + o];
            for (std::size_t i = 0; i < l.in; ++i) sum += w[i] * in[i];
            out[o] = last ? sum : std::tanh(sum);
        }
        if (last) softmax(out);
    }
}

double Mlp::loss() {
    const std::size_t last = layers_.size() - 1;
    double loss = 0;
    for (std::size_t image = 0; image < batch_.size(); ++image) {
        const std::span<float> probability = output(last, image);
        const std::size_t label = batch_[image].label;
        std::copy(probability.begin(), probability.end(), delta(last, image).begin());
        delta(last, image)[label] -= 1.0F;  // cross entropy of a softmax: p − onehot
        loss -= std::log(std::max(static_cast<double>(probability[label]), 1e-30));
    }
    return loss;
}

void Mlp::backward(std::size_t layer, std::span<float> gradient) {
    const Layer &l = layers_[layer];
    for (std::size_t image = 0; image < batch_.size(); ++image) {
        const std::span<const float> in = input(layer, image);
        const std::span<const float> out_delta = delta(layer, image);
        for (std::size_t o = 0; o < l.out; ++o) {
            float *dw = &gradient[o * l.in];
            for (std::size_t i = 0; i < l.in; ++i) dw[i] += out_delta[o] * in[i];
            gradient[l.out * l.in + o] += out_delta[o];
        }
        if (layer > 0) pass_delta_down(layer, image);
    }
}

void Mlp::pass_delta_down(std::size_t layer, std::size_t image) {
    const Layer &l = layers_[layer];
    const std::span<const float> in = input(layer, image), from = delta(layer, image);
    const std::span<float> to = delta(layer - 1, image);
    std::fill(to.begin(), to.end(), 0.0F);
    for (std::size_t o = 0; o < l.out; ++o) {
        const float *w = &parameters_[l.weights + o * l.in];
        for (std::size_t i = 0; i < l.in; ++i) to[i] += from[o] * w[i];
    }
    for (std::size_t i = 0; i < l.in; ++i) to[i] *= 1.0F - in[i] * in[i];  // tanh' = 1 − tanh²
}

std::size_t Mlp::classify(std::span<const float> image) {
    start({{.pixels = image}});
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) forward(layer);
    const std::vector<float> &probability = outputs_.back();
    return static_cast<std::size_t>(std::max_element(probability.begin(), probability.end()) -
                                    probability.begin());
}

}  // namespace digits
