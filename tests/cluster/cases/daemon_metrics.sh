# SPDX-License-Identifier: BSD-3-Clause
# ringrtd serves OpenMetrics over HTTP on loopback. Silent clients delay no resize.
only_with daemon "ringrtd serves it; the plugin writes metrics_file"
command -v python3 >/dev/null || { note "skipped: no python3"; exit 77; }
port=$((20000 + RANDOM % 10000))
"$cluster" daemon "$dir" term ringrtd
RINGRT_FACTS=$dir/run/facts "$(cat "$dir/run/ringrtd.program")" --metrics 127.0.0.1:$port >"$work/daemon.log" 2>&1 &
daemon=$!
trap 'kill $daemon $slow 2>/dev/null' EXIT
wait_for 20 "activity" grep -q 'active: holds' "$work/daemon.log"
ask() { # METHOD PATH: status, then the body
    python3 - "$port" "$1" "$2" <<'PYTHON'
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
connection.request(sys.argv[2], sys.argv[3])
answer = connection.getresponse()
print(answer.status, answer.getheader("Content-Type"))
print(answer.read().decode(), end="")
PYTHON
}
ask GET /metrics >"$work/metrics"
grep -q '^200 application/openmetrics-text' "$work/metrics" || fail "$(head -3 "$work/metrics")"
grep -q '^# EOF$' "$work/metrics" && grep -q '^ringrt_' "$work/metrics" || fail "not the metrics"
ask GET / | grep -q ^404 || fail "GET /"
ask POST /metrics | grep -q ^405 || fail "POST /metrics"
# Eight clients connect and stay silent: each is cut off after two seconds.
python3 -c '
import socket, sys, time
all = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(8)]
time.sleep(60)' $port &
slow=$!
start_job busy --malleable=1:16 -- 100000 100
wait_for 30 "16 GPUs in spite of slow clients" runs_with "$job" 16
ask GET /metrics | grep -q ^200 || fail "no answer after the slow clients"
kill $slow $daemon
wait $daemon || fail "it did not end as asked"
