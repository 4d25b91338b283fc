// SPDX-License-Identifier: BSD-3-Clause
// A multi-layer perceptron: fully connected layers with tanh between them, and softmax with cross
// entropy at the end. Plain loops, because the network is tiny and not the subject of this example.
//
// A pass over a batch goes layer by layer, so that one layer's gradient can be sent while the
// others are computed: start(), forward() in rising order, loss(), backward() in falling order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace digits {

struct Image {
    std::span<const float> pixels{};
    std::size_t label = 0;
};

class Mlp {
  public:
    // widths[0] inputs, then the hidden layers, widths.back() classes. Weights are drawn uniformly
    // in ±sqrt(6/(in+out)) (Glorot and Bengio 2010) from `seed`; biases are zero.
    Mlp(std::vector<std::size_t> widths, uint64_t seed);

    // All layers' weights (row-major, out × in) and biases in one vector: one buffer to save.
    [[nodiscard]] std::span<float> parameters() { return parameters_; }
    [[nodiscard]] std::size_t layers() const { return layers_.size(); }
    // A layer's part of parameters(), or of any vector with the same layout.
    [[nodiscard]] std::span<float> of_layer(std::size_t layer, std::span<float> all) const;

    void start(std::vector<Image> batch);
    void forward(std::size_t layer);
    // The batch's summed loss. Call once, after the last layer's forward().
    [[nodiscard]] double loss();
    // Adds the batch's gradient of this layer to `gradient`, which is as long as of_layer().
    void backward(std::size_t layer, std::span<float> gradient);

    [[nodiscard]] std::size_t classify(std::span<const float> image);

  private:
    struct Layer {
        std::size_t in, out, weights, biases;  // the last two: offsets into parameters_
    };
    [[nodiscard]] std::span<const float> input(std::size_t layer, std::size_t image) const;
    [[nodiscard]] std::span<float> output(std::size_t layer, std::size_t image);
    [[nodiscard]] std::span<float> delta(std::size_t layer, std::size_t image);
    void pass_delta_down(std::size_t layer, std::size_t image);

    std::vector<Layer> layers_;
    std::vector<float> parameters_;
    std::vector<Image> batch_;
    std::vector<std::vector<float>> outputs_;  // per layer, in image order
    std::vector<std::vector<float>> deltas_;   // d loss / d (layer's sum before tanh), as outputs_
};

}  // namespace digits
