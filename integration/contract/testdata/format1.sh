#!/bin/sh
# Usage: format1.sh HOLDFAST OUTPUT.tar.gz, where HOLDFAST is the binary of commit d2182d0.
set -eu
holdfast=$1 output=$(realpath "$2") NATS_URL=nats://127.0.0.1:4777
. "$(dirname "$0")/node.sh"

for i in $(seq 24); do pass "forgotten.$i"; done
for i in 0 1 2 3; do
    pass $(yes "held.$i" | head -n "$i")
    take "held.$i" --owner "owner.$i" --ttl 24h --metadata "of=$i" --request-id "request.$i"
done
for i in 1 2 3; do pass $(yes "free.$i" | head -n "$i"); done
take expired --owner passer --ttl 100ms
take ephemeral.held --owner passer --ttl 24h --ephemeral
take ephemeral.free --owner passer --ephemeral
"$holdfast" release ephemeral.free --owner passer >/dev/null
for i in $(seq 30); do pass "stone.$i" "stone.$i"; done
sleep 65 # free resources become tombstones
for i in $(seq 30); do for k in 0 1 2 3; do "$holdfast" extend "held.$k" --owner "owner.$k" --ttl 24h >/dev/null; done; done
for i in $(seq 27); do pass "recent.$i" "filler.$i.0" "filler.$i.1" "filler.$i.2" "filler.$i.3"; done
for i in $(seq 4); do pass "more.$i"; done
take late --owner late --ttl 24h --metadata of=late
take ephemeral.late --owner late --ttl 24h --ephemeral
pass free.late
finish
