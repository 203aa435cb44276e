# What format1.sh and format2.sh share: a node of an earlier version at NATS_URL, and what it is asked. They set holdfast, the
# binary, output, the archive to write, and NATS_URL.
data=$(mktemp -d)
export NATS_URL
"$holdfast" serve --listen "${NATS_URL#nats://}" --data "$data/data" --name old --shards 2 \
    --max-remembered 160 --history 1 &
server=$!
until "$holdfast" get ready >/dev/null 2>&1; do sleep 0.1; done

take() { "$holdfast" acquire "$@" >/dev/null; }
pass() { for name; do take "$name" --owner passer; "$holdfast" release "$name" --owner passer >/dev/null; done; }

# finish stops the node and writes the archive.
finish() {
    kill "$server"
    wait "$server" || true
    tar -C "$data" -czf "$output" data
    rm -r "$data"
}
