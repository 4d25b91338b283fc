// SPDX-License-Identifier: BSD-3-Clause
// malleable.yaml's parser, and its man page compared with the table of parameters. `test_yaml
// --print` prints the list of parameters for the man page.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <variant>

#include "slurm_plugin/controller/nearest.h"
#include "slurm_plugin/slurm/host/yaml_options.h"
#include "tests/support/check.h"

namespace {

using namespace ringrt::slurm;
namespace controller = ringrt::controller;

std::string error_of(std::string_view text) {
    const auto parsed = parse_yaml(text, "m.yaml");
    const auto *error = std::get_if<YamlError>(&parsed);
    return error != nullptr ? error->message : "";
}

std::string man_entry(const controller::Parameter &parameter) {
    std::string entry =
        ".TP\n.B " + std::string(parameter.name) + "\n" + std::string(parameter.help) + ".\n";
    if (parameter.type == controller::ParameterType::choice) {
        std::string choices(parameter.choices);
        for (std::size_t bar = 0; (bar = choices.find('|', bar)) != std::string::npos; bar += 2)
            choices.replace(bar, 1, ", ");
        entry += "One of " + choices + ".\n";
    } else if (parameter.type == controller::ParameterType::name) {
        return entry;
    } else {
        char range[80];
        std::snprintf(range, sizeof range, "From %.15g to %.15g.\n", parameter.low, parameter.high);
        entry += range;
    }
    return entry + "Default: " + controller::get_parameter(controller::Options{}, parameter.name) +
           ".\n";
}

TEST(keys_are_set) {
    const auto parsed = parse_yaml(
        "mode: observe\nsettle_s: 3.5 # quick\nevent_log: /var/log/x.jsonl\n"
        "metrics_file: /var/lib/x.prom\n",
        "m.yaml");
    const auto *options = std::get_if<PluginOptions>(&parsed);
    ck_assert_ptr_nonnull(options);
    ck_assert(options->controller.mode == controller::Mode::observe);
    ck_assert_double_eq(options->controller.settle_s, 3.5);
    EXPECT_TEXT(options->event_log, "/var/log/x.jsonl");
    EXPECT_TEXT(options->metrics_file, "/var/lib/x.prom");
    EXPECT_TEXT(get_key(*options, "mode") + get_key(*options, "event_log"),
                "observe/var/log/x.jsonl");
}

TEST(a_misspelt_word_gets_a_suggestion) {
    const std::vector<std::string_view> keys = ringrt::slurm::yaml_keys();
    const auto meant = [&](std::string_view word) {
        return std::string(controller::nearest(word, keys));
    };
    EXPECT_TEXT(meant("min_resize_interval"), "min_resize_interval_s");
    EXPECT_TEXT(meant("Mode"), "mode");
    EXPECT_TEXT(meant("metric_file"), "metrics_file");
    EXPECT_TEXT(meant("breaker_job"), "breaker_jobs");
    EXPECT_TEXT(meant("mdoe"), "mode");
    EXPECT_TEXT(meant("zzzzzzzz"), "");
    EXPECT_TEXT(meant("mod"), "mode");
    EXPECT_TEXT(meant("m"), "");
    EXPECT_TEXT(meant(""), "");
    EXPECT_TEXT(meant(std::string(100000, 'm')), "");
}

TEST(an_empty_file_means_the_defaults) {
    for (const char *text : {"", "\n\n", "# only words\n", "---\n", "{}"})
        EXPECT_TEXT(error_of(text), "");
    const auto none = read_yaml("/nonexistent/malleable.yaml");
    const auto *options = std::get_if<PluginOptions>(&none);
    ck_assert(options != nullptr && !options->found);
    ck_assert(options->controller.mode == controller::Mode::observe);
}

TEST(errors_name_the_line) {
    EXPECT_TEXT(error_of("mode: act\npolcy: doubling\n"),
                "m.yaml:2: unknown key \"polcy\"; did you mean \"policy\"?");
    EXPECT_TEXT(error_of("xyzzy: 1\n").substr(0, 54),
                "m.yaml:1: unknown key \"xyzzy\"; expected one of mode, p");
    EXPECT_TEXT(error_of("metrics_file: x"),
                "m.yaml:1: metrics_file: expected an absolute path, got \"x\"");
    EXPECT_TEXT(error_of("mode: act\nmode: off"), "m.yaml:2: key \"mode\" is given a second time");
    EXPECT_TEXT(error_of("- mode"), "m.yaml:1: expected key: value, got a list");
    EXPECT_TEXT(error_of("mode"), "m.yaml:1: expected key: value, got \"mode\"");
    EXPECT_TEXT(error_of("mode: {a: b}"),
                "m.yaml:1: expected a plain value after the key, got a mapping");
    EXPECT_TEXT(error_of("mode: &a act\npolicy: *a"),
                "m.yaml:2: expected a plain value, got an alias");
    EXPECT_TEXT(error_of("mode: act\n---\nmode: off"), "m.yaml:2: expected one document");
    EXPECT_TEXT(error_of("event_log: relative").substr(0, 10), "m.yaml:1: ");
    ck_assert(!error_of("mode: sometimes").empty());
    ck_assert(!error_of("mode: \"a\tb: [").empty());
    EXPECT_TEXT(error_of("extension_qos: scavenger"), "");
    EXPECT_TEXT(error_of("extension_qos: a b"),
                "m.yaml:1: extension_qos: expected a name, got \"a b\"");
    ck_assert(error_of("extension_partition: \"\"").empty());  // its base's
    ck_assert(!error_of("settle_s: nan").empty());
    ck_assert(!error_of("settle_s: -1").empty());
}

// F44: libyaml alone takes nine seconds for 80 kB of brackets, and hours for 2 MB.
TEST(bombs_are_refused_at_once) {
    EXPECT_TEXT(error_of(std::string(60000, '[')), "m.yaml:1: nested too deep (limit 16)");
    EXPECT_TEXT(error_of(std::string(2 << 20, '[')), "m.yaml:1: longer than 65536 bytes");
    ck_assert(!error_of(std::string(60000, '-')).empty());
    ck_assert(!error_of(std::string(100, '\0')).empty());
}

TEST(random_text_is_survived) {
    constexpr char kAlphabet[] = "mode: act\n-[]{}&*!|>'\"%@`#,?\t\xff\xc3";
    std::mt19937 random(20261121);
    for (int i = 0; i < 20000; ++i) {
        std::string text;
        for (unsigned length = random() % 60; length > 0; --length)
            text += kAlphabet[random() % (sizeof kAlphabet - 1)];
        (void)parse_yaml(text, "m.yaml");
    }
}

TEST(man_page_agrees_with_the_table) {
    const char *srcdir = std::getenv("srcdir");
    std::ifstream file(std::string(srcdir != nullptr ? srcdir : ".") + "/man/malleable.yaml.5");
    const std::string page((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    ck_assert_msg(!page.empty(), "cannot read man/malleable.yaml.5");
    for (const controller::Parameter &parameter : controller::parameters())
        ck_assert_msg(page.find(man_entry(parameter)) != std::string::npos,
                      "man/malleable.yaml.5 lacks or differs:\n%s", man_entry(parameter).c_str());
}

}  // namespace

int main(int argc, char **argv) {
    if (argc > 1 && std::strcmp(argv[1], "--print") == 0) {
        for (const controller::Parameter &parameter : controller::parameters())
            std::fputs(man_entry(parameter).c_str(), stdout);
        return 0;
    }
    return ringrt::test::run_all("yaml");
}
