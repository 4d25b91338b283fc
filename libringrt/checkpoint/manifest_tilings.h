// SPDX-License-Identifier: BSD-3-Clause
// The `block` lines of a manifest. Parameters that are cut alike share one tiling: a model has many
// tensors and few shapes. Read as hostile input. PURE.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libringrt/checkpoint/layout.h"
#include "libringrt/checkpoint/words.h"

namespace ringrt::checkpoint {

class TilingWriter {
  public:
    explicit TilingWriter(const std::vector<Parameter> &parameters);
    [[nodiscard]] const std::string &block_lines() const { return lines_; }
    // "whole", "rows", "blob" or "tiling 0".
    [[nodiscard]] std::string held(const Parameter &parameter) const;

  private:
    std::map<const Tiling *, size_t> numbers_;
    std::string lines_;
};

class TilingReader {
  public:
    // Reads a line of a manifest of `ranks` ranks. Tilings are numbered from 0, in order.
    bool read(Words &words, uint32_t ranks);
    // False if there is no such tiling, or it does not tile this shape.
    bool find(size_t number, const std::vector<uint64_t> &shape,
              std::shared_ptr<const Tiling> &out);

  private:
    struct Entry {
        std::shared_ptr<Tiling> tiling;
        bool is_checked = false;
    };
    std::vector<Entry> entries_;
    size_t blocks_ = 0;
};

}  // namespace ringrt::checkpoint
