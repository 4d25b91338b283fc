// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringrt-check/slurm_conf.h"

#include <cctype>

#include "tools/ringrt-check/text_file.h"

namespace ringrt::check {
namespace {

constexpr int kFilesMax = 1000;

// Lines without comments; a line that ends with a backslash continues on the next.
std::vector<std::string> lines_of(const std::string &text) {
    std::vector<std::string> out;
    std::string whole;
    for (std::string line : split(text, "\n")) {
        for (std::size_t at = 0; at < line.size(); ++at)
            if (line[at] == '#' && (at == 0 || line[at - 1] != '\\')) line.resize(at);
        while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0)
            line.pop_back();
        if (!line.empty() && line.back() == '\\') {
            line.pop_back();
            whole += line;
            continue;
        }
        out.push_back(whole + line);
        whole.clear();
    }
    if (!whole.empty()) out.push_back(whole);
    return out;
}

// `A=1 B="two words"`: the words; quotes keep blanks together and are removed.
std::vector<std::string> words_of(const std::string &line) {
    std::vector<std::string> out;
    std::string word;
    bool quoted = false;
    for (const char c : line + " ") {
        if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && std::isspace(static_cast<unsigned char>(c)) != 0) {
            if (!word.empty()) out.push_back(word);
            word.clear();
        } else {
            word += c;
        }
    }
    return out;
}

class Reader {
  public:
    explicit Reader(SlurmConf &out) : out_(out) {}

    void read(const std::string &path, int depth) {
        if (depth > kIncludeDepthMax || ++files_ > kFilesMax) {
            out_.error = path + ": too many Include lines";
            return;
        }
        std::string error;
        const auto text = read_file(path, kTextBytesMax, error);
        if (!text) {
            out_.error = path + ": cannot be read: " + error;
            return;
        }
        for (const std::string &line : lines_of(*text)) take(words_of(line), depth);
    }

  private:
    void take(const std::vector<std::string> &words, int depth) {
        if (words.empty()) return;
        if (words.size() == 2 && lower(words[0]) == "include") {
            const bool whole = words[1].starts_with('/');
            read(whole ? words[1] : directory_of(out_.path) + "/" + words[1], depth + 1);
            return;
        }
        const std::string kind = lower(words[0].substr(0, words[0].find('=')));
        const bool is_node = kind == "nodename" || kind == "nodeset";
        if (kind == "partitionname" || kind == "downnodes") return;
        for (const std::string &word : words) {
            const std::size_t equals = word.find('=');
            if (equals == std::string::npos) continue;
            const std::string key = lower(word.substr(0, equals));
            if (!is_node)
                out_.values[key] = word.substr(equals + 1);
            else if (key == "gres")
                out_.node_gres.push_back(word.substr(equals + 1));
        }
    }

    SlurmConf &out_;
    int files_ = 0;
};

}  // namespace

std::string SlurmConf::value(std::string_view key) const {
    const auto found = values.find(lower(key));
    return found == values.end() ? "" : found->second;
}

SlurmConf read_slurm_conf(const std::string &path) {
    SlurmConf out{.path = path, .error = {}, .values = {}, .node_gres = {}};
    Reader(out).read(path, 0);
    return out;
}

}  // namespace ringrt::check
