// SPDX-License-Identifier: BSD-3-Clause
// `ringstat top`: the jobs and their GPUs, redrawn until q or Ctrl-C.
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>

#include "tools/ringstat/list.h"
#include "tools/ringstat/output.h"
#include "tools/ringstat/screen.h"

namespace ringrt::ringstat {
namespace {

constexpr double kEvery_s = 2;

volatile std::sig_atomic_t ended_by = 0;

// The terminal's alternate screen, without echo; restored however the program ends.
class Terminal {
  public:
    Terminal() {
        struct sigaction action {};
        action.sa_handler = [](int signal) { ended_by = signal; };
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
        action.sa_handler = [](int) {};  // new window size: poll() returns, and it is redrawn
        sigaction(SIGWINCH, &action, nullptr);
        has_keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
        if (has_keys_) {
            termios raw = before_;
            raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            tcsetattr(STDIN_FILENO, TCSANOW, &raw);
        }
        put("\x1b[?1049h\x1b[?25l");
    }
    Terminal(const Terminal &) = delete;
    Terminal &operator=(const Terminal &) = delete;
    ~Terminal() {
        put("\x1b[?25h\x1b[?1049l");
        std::fflush(stdout);
        if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }

    // False: the program must end.
    [[nodiscard]] bool wait(double seconds) const {
        pollfd keys{.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
        if (ended_by != 0) return false;
        if (poll(&keys, 1, static_cast<int>(seconds * 1000)) <= 0) return ended_by == 0;
        char key = 'q';
        return read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 'Q';
    }

  private:
    termios before_{};
    bool has_keys_ = false;
};

std::vector<std::string> frame(const Options &options, std::size_t lines) {
    const std::time_t now = std::time(nullptr);
    tm parts{};
    char clock[16] = "";
    if (localtime_r(&now, &parts) != nullptr)
        (void)std::strftime(clock, sizeof clock, "%T", &parts);
    const JobList list = ask_jobs(options);
    if (!list.error.empty()) return {std::string(clock) + "  " + list.error};
    std::vector<std::string> out =
        top_lines(list.jobs, list.summary.value_or(Summary{}), this_screen(), lines);
    out[1] = clock;
    return out;
}

int draw_on_terminal(const Options &options, double every_s) {
    const Terminal terminal;
    do {
        put("\x1b[H");
        std::size_t number = 0;
        for (const std::string &line : frame(options, screen_lines())) {
            ++number;
            put((number > 1 ? "\r\n" : "") + line + (number == 2 ? "  q ends" : "") + "\x1b[K");
        }
        put("\x1b[J");
        if (std::fflush(stdout) != 0) return kNoAnswer;
    } while (terminal.wait(every_s));
    return ended_by == 0 || ended_by == SIGINT ? kOk : 128 + ended_by;
}

}  // namespace

int top(const Options &options) {
    const double every_s = options.iterate_s > 0 ? options.iterate_s : kEvery_s;
    if (isatty(STDOUT_FILENO) != 0) return draw_on_terminal(options, every_s);
    // No terminal: one frame, for a file or a pipe.
    for (const std::string &line : frame(options, SIZE_MAX)) put(line + "\n");
    return kOk;
}

}  // namespace ringrt::ringstat
