#!/bin/sh
# Usage: format2.sh HOLDFAST OUTPUT.tar.gz, where HOLDFAST is the binary of commit f1db555.
set -eu
holdfast=$1 output=$(realpath "$2") NATS_URL=nats://127.0.0.1:4778
. "$(dirname "$0")/node.sh"

# hold takes a mutex, and a lock of readers, and a semaphore, each of them with a token that is not the first.
hold() {
    pass "mutex.$1" "readers.$1" "semaphore.$1"
    take "mutex.$1" --owner mutex --ttl 24h --metadata of=mutex --request-id mutex
    take "readers.$1" --owner ann --ttl 24h --shared --metadata of=ann --request-id ann
    take "readers.$1" --owner bob --ttl 24h --shared
    take "semaphore.$1" --owner ann --ttl 24h --limit 5 --permits 2
    take "semaphore.$1" --owner bob --ttl 24h --limit 5
    take "semaphore.$1" --owner cat --ttl 24h --limit 4
    "$holdfast" release "semaphore.$1" --owner bob >/dev/null
}

for i in $(seq 24); do pass "forgotten.$i"; done
hold early
take expired --owner passer --ttl 100ms --shared
take ephemeral --owner passer --ttl 24h --ephemeral --shared
for i in $(seq 30); do pass "stone.$i" "stone.$i"; done
sleep 65 # free resources become tombstones
for i in $(seq 30); do
    "$holdfast" extend readers.early --owner ann --ttl 24h >/dev/null
    "$holdfast" extend mutex.early --owner mutex --ttl 24h >/dev/null
done
for i in $(seq 27); do pass "recent.$i" "filler.$i.0" "filler.$i.1" "filler.$i.2" "filler.$i.3"; done
for i in $(seq 4); do pass "more.$i"; done
hold late
pass free.late
finish
