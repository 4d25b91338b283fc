// SPDX-License-Identifier: BSD-3-Clause
// main() of a fuzz target if the compiler has no libFuzzer. Reads the corpus and tries it, then
// mutations of it. Without coverage guidance, it takes words from the corpus. Accepts libFuzzer's
// flags:
//
//     TARGET [-runs=N] [-max_total_time=SECONDS] [-seed=S] [-max_len=BYTES]
//     [-artifact_prefix=PREFIX]
//            FILE|DIRECTORY...
//
// Mutates only if -runs or -max_total_time sets a limit. A failing input is written to
// PREFIXcrash-SEED-NUMBER.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "tests/fuzz/fuzz.h"

// From the sanitizers; absent in other builds.
extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;

constexpr unsigned kHangSeconds = 20;  // per input, also under sanitizers on a busy machine

struct Options {
    int64_t runs = 0;
    double seconds = 0;
    uint64_t seed = 1;
    size_t bytes_max = 1024;
    std::string crash_prefix;
    std::vector<fs::path> corpus;
};

// The current input, for the handlers.
const std::string *current = nullptr;
char crash_name[4200] = "crash";

void keep_current() {
    if (!current) return;
    int fd = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0) return;
    ssize_t written = write(fd, current->data(), current->size());
    (void)written;
    close(fd);
    current = nullptr;
    dprintf(STDERR_FILENO, "the input is in %s\n", crash_name);
}

void on_signal(int number) {
    if (number == SIGALRM) dprintf(STDERR_FILENO, "one input took %u s\n", kHangSeconds);
    keep_current();
    signal(number, SIG_DFL);
    raise(number == SIGALRM ? SIGABRT : number);
}

void catch_crashes() {
    for (int number : {SIGABRT, SIGALRM}) signal(number, on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep_current);
    else
        for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) signal(number, on_signal);
}

[[noreturn]] void refuse(const std::string &what) {
    fprintf(
        stderr,
        "expected [-runs=N] [-max_total_time=S] [-seed=S] [-max_len=N] FILE|DIRECTORY..., got %s\n",
        what.c_str());
    exit(2);
}

template <typename Number>
bool take_flag(std::string_view argument, std::string_view name, Number &out) {
    if (!argument.starts_with(name)) return false;
    argument.remove_prefix(name.size());
    auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), out);
    if (error != std::errc() || end != argument.data() + argument.size())
        refuse(std::string(name) + std::string(argument));
    return true;
}

bool take_text(std::string_view argument, std::string_view name, std::string &out) {
    if (!argument.starts_with(name)) return false;
    out = argument.substr(name.size());
    return true;
}

Options read_options(int argc, char **argv) {
    Options out;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (take_flag(argument, "-runs=", out.runs) || take_flag(argument, "-seed=", out.seed) ||
            take_flag(argument, "-max_total_time=", out.seconds) ||
            take_flag(argument, "-max_len=", out.bytes_max) ||
            take_text(argument, "-artifact_prefix=", out.crash_prefix))
            continue;
        if (argument.starts_with('-') || !fs::exists(argument)) refuse(argument);
        out.corpus.emplace_back(argument);
    }
    return out;
}

std::string read_whole(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> read_corpus(const std::vector<fs::path> &paths) {
    std::vector<fs::path> files;
    for (const fs::path &path : paths) {
        if (!fs::is_directory(path))
            files.push_back(path);
        else
            for (const auto &entry : fs::directory_iterator(path)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<std::string> inputs;
    for (const fs::path &file : files) inputs.push_back(read_whole(file));
    return inputs;
}

void run_one(const std::string &input) {
    current = &input;
    // On the heap and of exact length, so that a sanitizer detects a read beyond it.
    const std::vector<uint8_t> bytes(input.begin(), input.end());
    alarm(kHangSeconds);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    current = nullptr;
}

// Words of the corpus, and text on which parsers often fail.
std::vector<std::string> words_of(const std::vector<std::string> &corpus) {
    std::vector<std::string> words = {"0",
                                      "-1",
                                      "1e9",
                                      "-0",
                                      "nan",
                                      "inf",
                                      "1e308",
                                      "1e-320",
                                      ".",
                                      "2147483647",
                                      "2147483648",
                                      "4294967296",
                                      "65536",
                                      "65537",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "18446744073709551615",
                                      "0x10",
                                      " ",
                                      "\n",
                                      "\r\n",
                                      "\t",
                                      ",",
                                      ":",
                                      "=",
                                      "-",
                                      "|",
                                      "\"",
                                      "'",
                                      "[",
                                      "{",
                                      "..",
                                      "/",
                                      "\x1b[",
                                      "\xff",
                                      "\xc3",
                                      "\xe2\x80\xae",
                                      std::string(1, '\0')};
    for (const std::string &input : corpus)
        for (size_t at = 0; at < input.size() && words.size() < 4000;) {
            size_t end = at + 1;
            while (end < input.size() && isalnum(static_cast<unsigned char>(input[end])) &&
                   isalnum(static_cast<unsigned char>(input[end - 1])))
                ++end;
            words.push_back(input.substr(at, end - at));
            at = end;
        }
    return words;
}

class Mutator {
  public:
    Mutator(const Options &options, const std::vector<std::string> &corpus)
        : random_(options.seed),
          bytes_max_(options.bytes_max),
          corpus_(corpus),
          words_(words_of(corpus)) {}

    std::string next() {
        std::string input = corpus_.empty() ? "" : pick(corpus_);
        for (size_t n = 1 + below(below(4) == 0 ? 16 : 4); n > 0; --n) change(input);
        if (input.size() > bytes_max_) input.resize(bytes_max_);
        return input;
    }

  private:
    size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }
    const std::string &pick(const std::vector<std::string> &from) {
        return from[below(from.size())];
    }

    // A random range [first, first + length) of `input`, more often a short one.
    std::pair<size_t, size_t> range(const std::string &input) {
        const size_t first = below(input.size());
        return {first, std::min(input.size() - first, size_t{1} << below(10))};
    }

    void change(std::string &input) {
        const size_t at = below(input.size() + 1);
        switch (input.empty() ? 4 : below(9)) {
            case 0:
                input[at % input.size()] ^= static_cast<char>(1 << below(8));
                break;
            case 1:
                input[at % input.size()] = static_cast<char>(random_());
                break;
            case 2: {
                auto [first, length] = range(input);
                input.erase(first, length);
                break;
            }
            case 3: {
                auto [first, length] = range(input);
                input.insert(at, input.substr(first, length));
                break;
            }
            case 4:
            case 5:
                input.insert(at, pick(words_));
                break;
            case 6: {
                const std::string &word = pick(words_);
                input.replace(at, std::min(word.size(), input.size() - at), word);
                break;
            }
            case 7: {
                const std::string &other = pick(corpus_);
                input = input.substr(0, at) + other.substr(below(other.size() + 1));
                break;
            }
            default:
                change_number(input, at % input.size());
        }
    }

    // Replaces the whole number at or after `at`.
    void change_number(std::string &input, size_t at) {
        const size_t first = input.find_first_of("0123456789", at);
        if (first == input.npos) return;
        const size_t end = std::min(input.find_first_not_of("0123456789", first), input.size());
        const uint64_t value = random_() >> below(64);
        input.replace(first, end - first, std::to_string(value));
    }

    Random random_;
    size_t bytes_max_;
    const std::vector<std::string> &corpus_;
    std::vector<std::string> words_;
};

double now_s() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int argc, char **argv) {
    const Options options = read_options(argc, argv);
    const std::vector<std::string> corpus = read_corpus(options.corpus);
    catch_crashes();
    snprintf(crash_name, sizeof crash_name, "%.4000scrash-corpus", options.crash_prefix.c_str());
    for (const std::string &input : corpus) run_one(input);
    Mutator mutator(options, corpus);
    const double begun_s = now_s();
    int64_t done = 0;
    const auto goes_on = [&] {
        if (options.runs > 0 && done >= options.runs) return false;
        return options.seconds > 0 ? now_s() - begun_s < options.seconds : done < options.runs;
    };
    for (; goes_on(); ++done) {
        snprintf(crash_name, sizeof crash_name, "%.4000scrash-%llu-%lld",
                 options.crash_prefix.c_str(), static_cast<unsigned long long>(options.seed),
                 static_cast<long long>(done));
        run_one(mutator.next());
    }
    alarm(0);
    printf("%zu inputs of the corpus, %lld mutated in %.1f s, seed %llu\n", corpus.size(),
           static_cast<long long>(done), now_s() - begun_s,
           static_cast<unsigned long long>(options.seed));
    return 0;
}
