# What the demonstrations have in common; each `run` sources it. It finds a broker: the one that is given (the first argument, or BOOTSTRAP: host:port of an
# Apache Kafka, say), else one in memory that ends with the script.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
pids=()
labels=()
cleanup() {
	local i
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do # the broker, which was first, is last
		kill -INT "${pids[i]}" 2>/dev/null || true
		wait "${pids[i]}" 2>/dev/null || true
	done
	for ((i = 0; i < ${#labels[@]}; i++)); do # what was said last is printed, too
		wait "${labels[i]}" || true
	done
	rm -rf "$work"
}
trap cleanup EXIT

given=${1:-${BOOTSTRAP-}}
weir=${WEIR-} # a binary that is there already
if [ -z "$weir" ]; then
	weir=$work/weir
	(cd "$root" && go build -o "$weir" ./cmd/weir)
fi

# start_broker TOPIC PARTITIONS: sets broker and topic. On a broker that was given the topic has a name of its own, so that a second run begins anew.
start_broker() {
	broker=$given
	topic=$1
	if [ -n "$broker" ]; then
		topic=$1-$$
		(cd "$root" && go run ./examples/watermarks/topic "$broker" "$topic" "$2")
		return
	fi
	"$weir" broker --listen 127.0.0.1:0 --topic "$1:$2" >"$work/broker" 2>/dev/null &
	pids+=($!)
	for _ in $(seq 600); do
		broker=$(sed -n 's/.* at //p' "$work/broker")
		[ -z "$broker" ] || return 0
		sleep 0.05
	done
	echo "the broker does not start" >&2
	exit 1
}
# sql FILE: the script, with the broker and the topic that are used.
sql() { sed -e "s/127.0.0.1:9092/$broker/" -e "s/'topic' = '[a-z-]*'/'topic' = '$topic'/" "$here/$1"; }

# label NAME: each line of standard input, with the seconds since $begin and the name.
label() { while IFS= read -r line; do printf '%3d s  %s%s\n' $(($(date +%s) - begin)) "$1" "$line"; done; }

# run_labelled NAME SCRIPT: runs a script in the background; its lines are labelled.
run_labelled() {
	local out=$work/lines-${#labels[@]}
	mkfifo "$out"
	label "$1" <"$out" &
	labels+=($!)
	"$weir" run --format csv --no-header "$2" >"$out" 2>&1 &
	pids+=($!)
}
