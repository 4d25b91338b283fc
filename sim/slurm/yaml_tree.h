// SPDX-License-Identifier: BSD-3-Clause
// A YAML document as a small tree with line numbers, for people's own files and hostile ones alike.
//
// Bounded before and while it is read: at most kYamlBytesMax bytes, kYamlDepthMax levels,
// kYamlNodesMax values. Anchors, aliases, tags, further documents and repeated keys are refused.
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

    // Each throws InputError "FILE:LINE: KEY: expected ..., got ..." where the text is another.
    [[nodiscard]] const std::string &text(const std::string &what) const;
    [[nodiscard]] double number(const std::string &what, double low, double high) const;
    [[nodiscard]] int integer(const std::string &what, int low, int high) const;
    [[nodiscard]] const std::vector<YamlNode> &items(const std::string &what) const;
    // A mapping's entries in their order; with `known`, another key is an error that names them.
    [[nodiscard]] const std::vector<YamlEntry> &entries(
        const std::string &what, const std::vector<std::string_view> &known = {}) const;
    [[nodiscard]] const YamlNode *find(std::string_view key) const;  // of a mapping; nullptr: none
    [[nodiscard]] const YamlNode &at(std::string_view key, const std::string &what) const;
    [[noreturn]] void fail(const std::string &what) const;

    Kind kind = Kind::scalar;
    std::size_t line = 1;
    const std::string *file = nullptr;  // its name, owned by the document
    std::string scalar;
    std::vector<YamlNode> sequence;
    std::vector<YamlEntry> mapping;
};

// Of a mapping. A struct, for std::pair needs its types whole where a vector does not.
struct YamlEntry {
    std::string key;
    YamlNode value;
};

// `file` stands in messages and must outlive the tree.
[[nodiscard]] YamlNode parse_yaml(const std::string &text, const std::string &file);

}  // namespace ringrt::sim
