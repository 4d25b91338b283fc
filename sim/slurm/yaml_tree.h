// SPDX-License-Identifier: BSD-3-Clause
// A YAML document as a small tree with line numbers, for trusted and untrusted files.
//
// Bounded before and during parsing: at most kYamlBytesMax bytes, kYamlDepthMax levels,
// kYamlNodesMax values. Anchors, aliases, tags, further documents and repeated keys are rejected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringrt::sim {

inline constexpr std::size_t kYamlBytesMax = 1 << 20;
inline constexpr int kYamlDepthMax = 16;
inline constexpr int kYamlNodesMax = 50'000;

struct YamlEntry;

class YamlNode {
  public:
    enum class Kind : uint8_t { scalar, sequence, mapping };

    // Each throws InputError "FILE:LINE: KEY: expected ..., got ..." if the text does not match.
    [[nodiscard]] const std::string &text(const std::string &what) const;
    [[nodiscard]] double number(const std::string &what, double low, double high) const;
    [[nodiscard]] int integer(const std::string &what, int low, int high) const;
    [[nodiscard]] const std::vector<YamlNode> &items(const std::string &what) const;
    // A mapping's entries in order. With `known`, another key is an error that lists those.
    [[nodiscard]] const std::vector<YamlEntry> &entries(
        const std::string &what, const std::vector<std::string_view> &known = {}) const;
    [[nodiscard]] const YamlNode *find(std::string_view key) const;  // in a mapping; nullptr: none
    [[nodiscard]] const YamlNode &at(std::string_view key, const std::string &what) const;
    [[noreturn]] void fail(const std::string &what) const;

    Kind kind = Kind::scalar;
    std::size_t line = 1;
    const std::string *file = nullptr;  // its name, owned by the caller of parse_yaml()
    std::string scalar;
    std::vector<YamlNode> sequence;
    std::vector<YamlEntry> mapping;
};

// An entry of a mapping. Not a std::pair, which needs complete types where a vector does not.
struct YamlEntry {
    std::string key;
    YamlNode value;
};

// `file` appears in messages and must outlive the tree.
[[nodiscard]] YamlNode parse_yaml(const std::string &text, const std::string &file);

}  // namespace ringrt::sim
