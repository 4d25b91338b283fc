// SPDX-License-Identifier: BSD-3-Clause
#include "sim/slurm/yaml_tree.h"

#include <yaml.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>
#include <set>

#include "sim/workload/csv.h"

namespace ringrt::sim {
namespace {

[[noreturn]] void fail_at(const std::string &file, std::size_t line, const std::string &what) {
    throw InputError(file + ":" + std::to_string(line) + ": " + what);
}

class Event {
  public:
    Event() = default;
    ~Event() { yaml_event_delete(&event_); }
    Event(const Event &) = delete;
    Event &operator=(const Event &) = delete;
    yaml_event_t &operator*() { return event_; }
    [[nodiscard]] std::size_t line() const { return event_.start_mark.line + 1; }
    [[nodiscard]] yaml_event_type_t type() const { return event_.type; }
    [[nodiscard]] bool is_marked() const {  // an anchor or a tag
        switch (event_.type) {
            case YAML_SCALAR_EVENT:
                return event_.data.scalar.anchor || event_.data.scalar.tag;
            case YAML_SEQUENCE_START_EVENT:
                return event_.data.sequence_start.anchor || event_.data.sequence_start.tag;
            case YAML_MAPPING_START_EVENT:
                return event_.data.mapping_start.anchor || event_.data.mapping_start.tag;
            default:
                return false;
        }
    }
    [[nodiscard]] std::string text() const {
        return {reinterpret_cast<const char *>(event_.data.scalar.value),
                event_.data.scalar.length};
    }

  private:
    yaml_event_t event_{};
};

class Builder {
  public:
    Builder(std::string_view text, const std::string &file) : file_(file) {
        if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char *>(text.data()),
                                     text.size());
    }
    ~Builder() { yaml_parser_delete(&parser_); }
    Builder(const Builder &) = delete;
    Builder &operator=(const Builder &) = delete;

    YamlNode document() {
        YamlNode root;
        root.file = &file_;
        root.kind = YamlNode::Kind::mapping;  // for an empty file
        for (bool has_root = false;;) {
            Event event;
            next(event);
            if (event.type() == YAML_STREAM_END_EVENT) return root;
            if (event.type() == YAML_DOCUMENT_START_EVENT && has_root)
                fail_at(file_, event.line(), "expected one document");
            if (!starts_node(event)) continue;
            root = node(event, 1);
            has_root = true;
        }
    }

  private:
    void next(Event &event) {
        if (yaml_parser_parse(&parser_, &*event) != 0) return;
        fail_at(file_, parser_.problem_mark.line + 1,
                parser_.problem ? printable(parser_.problem) : "not YAML");
    }
    static bool starts_node(const Event &event) {
        return event.type() == YAML_SCALAR_EVENT || event.type() == YAML_SEQUENCE_START_EVENT ||
               event.type() == YAML_MAPPING_START_EVENT || event.type() == YAML_ALIAS_EVENT;
    }

    YamlNode node(Event &event, int depth) {
        if (event.type() == YAML_ALIAS_EVENT || event.is_marked())
            fail_at(file_, event.line(), "expected a plain value, got an alias, anchor or tag");
        if (depth > kYamlDepthMax)
            fail_at(file_, event.line(),
                    "nested too deep (limit " + std::to_string(kYamlDepthMax) + ")");
        if (++nodes_ > kYamlNodesMax)
            fail_at(file_, event.line(), "more than " + std::to_string(kYamlNodesMax) + " values");
        YamlNode out;
        out.file = &file_;
        out.line = event.line();
        if (event.type() == YAML_SCALAR_EVENT) {
            out.scalar = event.text();
        } else if (event.type() == YAML_SEQUENCE_START_EVENT) {
            out.kind = YamlNode::Kind::sequence;
            fill_sequence(out, depth);
        } else {
            out.kind = YamlNode::Kind::mapping;
            fill_mapping(out, depth);
        }
        return out;
    }

    void fill_sequence(YamlNode &out, int depth) {
        for (;;) {
            Event item;
            next(item);
            if (item.type() == YAML_SEQUENCE_END_EVENT) return;
            out.sequence.push_back(node(item, depth + 1));
        }
    }

    void fill_mapping(YamlNode &out, int depth) {
        std::set<std::string> seen;
        for (;;) {
            Event key;
            next(key);
            if (key.type() == YAML_MAPPING_END_EVENT) return;
            if (key.type() != YAML_SCALAR_EVENT || key.is_marked())
                fail_at(file_, key.line(), "expected a plain key");
            std::string name = key.text();
            if (!seen.insert(name).second)
                fail_at(file_, key.line(),
                        "key \"" + printable(name) + "\" is given a second time");
            Event value;
            next(value);
            out.mapping.push_back({std::move(name), node(value, depth + 1)});
        }
    }

    yaml_parser_t parser_{};
    const std::string &file_;
    int nodes_ = 0;
};

std::string_view name_of(YamlNode::Kind kind) {
    return kind == YamlNode::Kind::scalar     ? "a plain value"
           : kind == YamlNode::Kind::sequence ? "a list"
                                              : "a mapping";
}

void expect(const YamlNode &node, YamlNode::Kind kind, const std::string &what) {
    if (node.kind != kind)
        node.fail(what + ": expected " + std::string(name_of(kind)) + ", got " +
                  std::string(name_of(node.kind)));
}

// libyaml takes quadratic time for deep nesting, so brackets are counted first.
void check_brackets(const std::string &text, const std::string &file) {
    int depth = 0;
    std::size_t line = 1;
    for (const char c : text) {
        line += c == '\n';
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
        if (depth > kYamlDepthMax)
            fail_at(file, line, "nested too deep (limit " + std::to_string(kYamlDepthMax) + ")");
    }
}

// Without trailing zeros: "0.5", "1000".
std::string plain(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", value);
    return text;
}

}  // namespace

void YamlNode::fail(const std::string &what) const { fail_at(*file, line, what); }

const std::string &YamlNode::text(const std::string &what) const {
    expect(*this, Kind::scalar, what);
    if (scalar.empty() || scalar.size() > 256) fail(what + ": expected 1 to 256 bytes");
    return scalar;
}

double YamlNode::number(const std::string &what, double low, double high) const {
    const std::optional<double> value = parse_number(text(what));
    if (!value || !(*value >= low && *value <= high))
        fail(what + ": expected a number in " + plain(low) + ".." + plain(high) + ", got \"" +
             printable(scalar) + "\"");
    return *value;
}

int YamlNode::integer(const std::string &what, int low, int high) const {
    const double value = number(what, low, high);
    if (value != std::floor(value))
        fail(what + ": expected a whole number, got \"" + printable(scalar) + "\"");
    return static_cast<int>(value);
}

const std::vector<YamlNode> &YamlNode::items(const std::string &what) const {
    expect(*this, Kind::sequence, what);
    return sequence;
}

const std::vector<YamlEntry> &YamlNode::entries(const std::string &what,
                                                const std::vector<std::string_view> &known) const {
    expect(*this, Kind::mapping, what);
    for (const auto &[key, value] : mapping) {
        if (known.empty() || std::find(known.begin(), known.end(), key) != known.end()) continue;
        std::string list;
        for (const std::string_view name : known)
            list += (list.empty() ? "" : ", ") + std::string(name);
        value.fail(what + ": unknown key \"" + printable(key) + "\"; expected one of " + list);
    }
    return mapping;
}

const YamlNode *YamlNode::find(std::string_view key) const {
    for (const auto &[name, value] : mapping)
        if (name == key) return &value;
    return nullptr;
}

const YamlNode &YamlNode::at(std::string_view key, const std::string &what) const {
    if (const YamlNode *found = find(key)) return *found;
    fail(what + ": needs \"" + std::string(key) + "\"");
}

YamlNode parse_yaml(const std::string &text, const std::string &file) {
    check_brackets(text, file);
    if (text.size() > kYamlBytesMax)
        fail_at(file, 1, "longer than " + std::to_string(kYamlBytesMax) + " bytes");
    return Builder(text, file).document();
}

}  // namespace ringrt::sim
