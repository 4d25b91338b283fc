// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/yaml_options.h"

#include <yaml.h>

#include <algorithm>
#include <optional>
#include <set>

#include "slurm_plugin/controller/nearest.h"
#include "slurm_plugin/slurm/host/safe_file.h"

namespace ringrt::slurm {
namespace {

// Keys besides the controller's: files, by absolute path.
struct PathKey {
    std::string_view name;
    std::string PluginOptions::*path;
};
constexpr PathKey kPathKeys[] = {{"event_log", &PluginOptions::event_log},
                                 {"metrics_file", &PluginOptions::metrics_file}};

const PathKey *find_path_key(std::string_view name) {
    const auto found = std::ranges::find(kPathKeys, name, &PathKey::name);
    return found == std::end(kPathKeys) ? nullptr : found;
}

constexpr std::size_t kShownBytesMax = 40;

std::string shown(std::string_view text) {
    std::string out(text.substr(0, kShownBytesMax));
    std::ranges::replace_if(
        out, [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
    return out;
}

YamlError error_at(std::string_view name, std::size_t line, const std::string &what) {
    return {std::string(name) + ":" + std::to_string(line) + ": " + what};
}

// libyaml takes quadratic time for deep nesting, so brackets are counted before parsing.
std::optional<YamlError> too_deep(std::string_view text, std::string_view name) {
    int depth = 0;
    std::size_t line = 1;
    for (const char c : text) {
        if (c == '\n') ++line;
        if (c == '[' || c == '{') ++depth;
        if (c == ']' || c == '}') --depth;
        if (depth > kYamlDepthMax)
            return error_at(name, line,
                            "nested too deep (limit " + std::to_string(kYamlDepthMax) + ")");
    }
    return std::nullopt;
}

// One mapping of plain keys to plain values, parsed event by event.
class Reader {
  public:
    Reader(std::string_view text, std::string_view name) : name_(name) {
        ready_ = yaml_parser_initialize(&parser_) != 0;
        if (text.data() == nullptr) text = "";  // libyaml ends the process at a null pointer
        const auto *bytes = reinterpret_cast<const unsigned char *>(text.data());
        if (ready_) yaml_parser_set_input_string(&parser_, bytes, text.size());
    }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;
    ~Reader() {
        if (ready_) yaml_parser_delete(&parser_);
    }

    std::variant<PluginOptions, YamlError> read() {
        while (!error_ && !done_) take_event();
        if (error_) return *error_;
        return options_;
    }

  private:
    void fail(std::size_t line, const std::string &what) { error_ = error_at(name_, line, what); }

    void take_event() {
        yaml_event_t event;
        if (!ready_ || yaml_parser_parse(&parser_, &event) == 0) {
            const char *problem =
                ready_ && parser_.problem != nullptr ? parser_.problem : "not YAML";
            fail(ready_ ? parser_.problem_mark.line + 1 : 1, problem);
            return;
        }
        handle(event);
        yaml_event_delete(&event);
    }

    void handle(const yaml_event_t &event) {
        const std::size_t line = event.start_mark.line + 1;
        switch (event.type) {
            case YAML_STREAM_END_EVENT:
                done_ = true;
                break;
            case YAML_DOCUMENT_START_EVENT:
                if (++documents_ > 1) fail(line, "expected one document");
                break;
            case YAML_MAPPING_START_EVENT:
                if (++mappings_ > 1)
                    fail(line, "expected a plain value after the key, got a mapping");
                break;
            case YAML_SCALAR_EVENT:
                take_scalar(event, line);
                break;
            case YAML_SEQUENCE_START_EVENT:
                fail(line, "expected key: value, got a list");
                break;
            case YAML_ALIAS_EVENT:
                fail(line, "expected a plain value, got an alias");
                break;
            default:
                break;
        }
    }

    void take_scalar(const yaml_event_t &event, std::size_t line) {
        const std::string text(reinterpret_cast<const char *>(event.data.scalar.value),
                               event.data.scalar.length);
        if (mappings_ == 0 && !text.empty())
            return fail(line, "expected key: value, got \"" + shown(text) + "\"");
        if (mappings_ == 0) return;  // an empty document
        if (!key_) return take_key(text, line);
        set(*key_, text, line);
        key_.reset();
    }

    void take_key(const std::string &key, std::size_t line) {
        if (find_path_key(key) == nullptr && controller::find_parameter(key) == nullptr)
            return fail(line, unknown(key));
        if (!seen_.insert(key).second)
            return fail(line, "key \"" + key + "\" is given a second time");
        key_ = key;
    }

    static std::string unknown(const std::string &key) {
        const std::vector<std::string_view> keys = yaml_keys();
        const std::string_view meant = controller::nearest(key, keys);
        if (!meant.empty())
            return "unknown key \"" + shown(key) + "\"; did you mean \"" + std::string(meant) +
                   "\"?";
        std::string known;
        for (const std::string_view one : keys) known.append(known.empty() ? "" : ", ").append(one);
        return "unknown key \"" + shown(key) + "\"; expected one of " + known;
    }

    void set(const std::string &key, const std::string &value, std::size_t line) {
        const PathKey *path = find_path_key(key);
        if (path == nullptr) {
            if (auto error = controller::set_parameter(options_.controller, key, value))
                fail(line, *error);
        } else if (value.starts_with('/') && value.size() < 4096 &&
                   value.find('\0') == std::string::npos) {
            options_.*path->path = value;
        } else {
            fail(line, key + ": expected an absolute path, got \"" + shown(value) + "\"");
        }
    }

    std::string name_;
    yaml_parser_t parser_{};
    bool ready_ = false, done_ = false;
    int documents_ = 0, mappings_ = 0;
    std::optional<std::string> key_;
    std::set<std::string> seen_;
    std::optional<YamlError> error_;
    PluginOptions options_;
};

}  // namespace

std::vector<std::string_view> yaml_keys() {
    std::vector<std::string_view> keys;
    for (const controller::Parameter &parameter : controller::parameters())
        keys.push_back(parameter.name);
    for (const PathKey &key : kPathKeys) keys.push_back(key.name);
    return keys;
}

std::string get_key(const PluginOptions &options, std::string_view key) {
    const PathKey *path = find_path_key(key);
    return path != nullptr ? options.*path->path : get_parameter(options.controller, key);
}

std::variant<PluginOptions, YamlError> parse_yaml(std::string_view text, std::string_view name) {
    if (text.size() > kYamlBytesMax)
        return error_at(name, 1, "longer than " + std::to_string(kYamlBytesMax) + " bytes");
    if (auto error = too_deep(text, name)) return *error;
    return Reader(text, name).read();
}

std::variant<PluginOptions, YamlError> read_yaml(const std::string &path) {
    const auto file = read_file(path, kYamlBytesMax);
    if (const auto *error = std::get_if<FileError>(&file)) {
        if (error->missing) return PluginOptions{.found = false};
        return YamlError{path + ": " + error->text};
    }
    const std::string &text = std::get<std::string>(file);
    auto parsed = parse_yaml(text, path);
    if (auto *options = std::get_if<PluginOptions>(&parsed)) options->text = text;
    return parsed;
}

}  // namespace ringrt::slurm
