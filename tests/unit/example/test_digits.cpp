// SPDX-License-Identifier: BSD-3-Clause
// The example's own parts: its gradient against finite differences, its data, its step log.
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "contrib/examples/digits_data.h"
#include "contrib/examples/digits_log.h"
#include "contrib/examples/digits_mlp.h"
#include "contrib/examples/digits_options.h"
#include "tests/support/check.h"

using namespace digits;

namespace {

std::string temporary(const char *name) {
    return std::string(name) + "-" + std::to_string(getpid());
}

std::string content(const std::string &path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

std::string image_line(int pixel, int label) {
    std::string line;
    for (std::size_t i = 0; i < kPixels; ++i) line += std::to_string(pixel) + ",";
    return line + std::to_string(label) + "\n";
}

std::string load_error(const std::string &text) {
    const std::string path = temporary("digits-bad.csv");
    std::ofstream(path) << text;
    std::string error;
    try {
        static_cast<void>(load_csv(path));
    } catch (const std::exception &e) {
        error = e.what();
    }
    unlink(path.c_str());
    return error;
}

Dataset images(std::size_t count) {
    return {.pixels = std::vector<float>(count * kPixels), .labels = std::vector<uint8_t>(count)};
}

// Adds one image's gradient and returns its loss.
double add_gradient(Mlp &model, const std::vector<float> &image, std::size_t label,
                    std::span<float> gradient) {
    model.start({{.pixels = image, .label = label}});
    for (std::size_t k = 0; k < model.layers(); ++k) model.forward(k);
    const double loss = model.loss();
    for (std::size_t k = model.layers(); k-- > 0;) model.backward(k, model.of_layer(k, gradient));
    return loss;
}

}  // namespace

TEST(the_gradient_is_that_of_the_loss) {
    Mlp model({5, 7, 6, 3}, 42);
    const std::vector<float> image{0.1F, 0.9F, 0.3F, -0.4F, 0.7F};
    std::vector<float> gradient(model.parameters().size()), unused(gradient.size());
    add_gradient(model, image, 2, gradient);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        constexpr float kStep = 1e-2F;
        float &parameter = model.parameters()[i];
        const float at = parameter;
        parameter = at + kStep;
        const double above = add_gradient(model, image, 2, unused);
        parameter = at - kStep;
        const double below = add_gradient(model, image, 2, unused);
        parameter = at;
        const double expected = (above - below) / (2 * kStep);
        ck_assert_msg(std::abs(expected - gradient[i]) < 1e-3,
                      "parameter %zu: %g, by differences %g", i, static_cast<double>(gradient[i]),
                      expected);
    }
}

TEST(gradients_add_up) {
    Mlp model({4, 5, 3}, 1);
    const std::vector<float> image{0.2F, 0.4F, 0.6F, 0.8F};
    std::vector<float> once(model.parameters().size()), twice(once.size());
    add_gradient(model, image, 1, once);
    add_gradient(model, image, 1, twice);
    add_gradient(model, image, 1, twice);
    for (std::size_t i = 0; i < once.size(); ++i)
        ck_assert_float_eq_tol(twice[i], 2 * once[i], 1e-6);
}

TEST(the_same_seed_gives_the_same_weights) {
    Mlp a({4, 5, 3}, 1), b({4, 5, 3}, 1), c({4, 5, 3}, 2);
    ck_assert(std::equal(a.parameters().begin(), a.parameters().end(), b.parameters().begin()));
    ck_assert(!std::equal(a.parameters().begin(), a.parameters().end(), c.parameters().begin()));
}

TEST(data_is_read) {
    const std::string path = temporary("digits-good.csv");
    std::ofstream(path) << image_line(16, 9) << "\n" << image_line(0, 0);
    const Dataset data = load_csv(path);
    unlink(path.c_str());
    ck_assert_uint_eq(data.size(), 2);
    ck_assert_uint_eq(data.labels[0], 9);
    ck_assert_float_eq(data.image(0)[63], 1.0F);
    ck_assert_float_eq(data.image(1)[0], 0.0F);
}

TEST(bad_data_is_refused_with_its_line) {
    const std::string good = image_line(1, 1);
    for (const std::string &bad :
         {image_line(17, 1), image_line(-1, 1), image_line(1, 10), good.substr(2), "1," + good,
          std::string("a,b\n"), good.substr(0, good.size() - 1) + ",\n7\n"}) {
        const std::string error = load_error(good + bad);
        ck_assert_msg(error.find(":2: ") != std::string::npos, "got \"%s\" for %s", error.c_str(),
                      bad.c_str());
    }
    ck_assert(load_error("").find("no images") != std::string::npos);
    ck_assert(load_error("\x1f\x8b").find("gunzip") != std::string::npos);
}

TEST(the_split_is_fixed_and_complete) {
    Dataset all = images(100);
    for (std::size_t i = 0; i < 100; ++i) all.pixels[i * kPixels] = static_cast<float>(i);
    const Split parts = split(all, 80), again = split(all, 80);
    ck_assert_uint_eq(parts.train.size(), 80);
    ck_assert_uint_eq(parts.test.size(), 20);
    ck_assert(parts.train.pixels == again.train.pixels);
    std::vector<int> seen(100);
    for (const Dataset *part : {&parts.train, &parts.test})
        for (std::size_t i = 0; i < part->size(); ++i)
            ++seen[static_cast<std::size_t>(part->image(i)[0])];
    for (const int times : seen) ck_assert_int_eq(times, 1);
}

TEST(too_little_data_is_refused) {
    bool threw = false;
    try {
        static_cast<void>(split(images(5), 5));
    } catch (const std::exception &) {
        threw = true;
    }
    ck_assert(threw);
}

TEST(the_step_log_survives_a_torn_line) {
    const std::string path = temporary("digits-steps.csv");
    StepLog(path).append({.step = 1, .epoch = 0.5, .loss = 2, .gpus = 4, .restart = 0});
    std::ofstream(path, std::ios::app) << "2,0.9";  // killed during the write
    StepLog(path).append({.step = 2, .epoch = 1, .loss = 1, .gpus = 8, .restart = 1});
    std::istringstream lines(content(path));
    unlink(path.c_str());
    std::string header, first, torn, second, none;
    std::getline(lines, header), std::getline(lines, first), std::getline(lines, torn),
        std::getline(lines, second);
    EXPECT_TEXT(header, "step,epoch,loss,gpus,restart,time_s");
    EXPECT_TEXT(first.substr(0, 15), "1,0.5000,2,4,0,");
    EXPECT_TEXT(torn, "2,0.9");
    EXPECT_TEXT(second.substr(0, 15), "2,1.0000,1,8,1,");
    ck_assert(!std::getline(lines, none));
}

TEST(an_unwritable_step_log_is_reported) {
    bool threw = false;
    try {
        StepLog log("/nonexistent/steps.csv");
    } catch (const std::exception &) {
        threw = true;
    }
    ck_assert(threw);
}

namespace {

Parsed parsed(std::vector<const char *> arguments, Options &out) {
    arguments.insert(arguments.begin(), "digits");
    optind = 0;  // getopt: restart from the beginning
    return parse_options(static_cast<int>(arguments.size()), const_cast<char **>(arguments.data()),
                         out);
}

}  // namespace

TEST(options_are_read) {
    Options o;
    ck_assert(parsed({"--epochs=3", "--hidden=32,16", "--seed", "9", "--device-ms-per-sample=2.5"},
                     o) == Parsed::run);
    ck_assert(o.epochs == 3 && o.seed == 9 && o.device_ms_per_sample == 2.5);
    ck_assert(o.hidden == (std::vector<std::size_t>{32, 16}));
}

TEST(wrong_options_are_refused) {
    for (const char *wrong :
         {"--epochs=0", "--epochs=-1", "--epochs=1x", "--hidden=", "--hidden=1,", "--hidden=0",
          "--learning-rate=nan", "--learning-rate=-1", "--seed=-1", "--batch=1e3", "--nonsense",
          "word", "--momentum=1"}) {
        Options o;
        ck_assert_msg(parsed({wrong}, o) == Parsed::wrong, "accepted %s", wrong);
    }
}

int main() { return ringrt::test::run_all("digits"); }
