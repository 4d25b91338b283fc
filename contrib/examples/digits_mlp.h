// SPDX-License-Identifier: BSD-3-Clause
// A multi-layer perceptron: fully connected layers, tanh between them, softmax with cross entropy
// at the end. Plain loops: the network is tiny, and what this example shows is elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace digits {

class Mlp {
  public:
    // widths[0] inputs, then the hidden layers, widths.back() classes. Weights are drawn uniformly
    // in ±sqrt(6/(in+out)) (Glorot and Bengio 2010) from `seed`; biases are zero.
    Mlp(std::vector<std::size_t> widths, uint64_t seed);

    // All layers' weights (row-major, out × in) and biases in one vector: one buffer to save, one
    // to sum over ranks.
    [[nodiscard]] std::span<float> parameters() { return parameters_; }

    // Adds one image's gradient to `gradient` (as long as parameters()) and returns its loss.
    double add_gradient(std::span<const float> image, std::size_t label, std::span<float> gradient);

    [[nodiscard]] std::size_t classify(std::span<const float> image);

  private:
    struct Layer {
        std::size_t in, out, weights, biases;  // the last two: offsets into parameters_
    };
    std::span<const float> forward(std::span<const float> image);
    void backward(std::span<const float> image, std::span<float> gradient);

    std::vector<Layer> layers_;
    std::vector<float> parameters_;
    std::vector<std::vector<float>> outputs_;  // of each layer, for one image
    std::vector<std::vector<float>> deltas_;   // d loss / d (layer's sum before tanh)
};

}  // namespace digits
