#!/bin/sh
# After an installation and after an upgrade. A running node is not restarted: in a cluster one node at a time may be.
set -e

if ! getent passwd holdfast >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/holdfast --no-create-home \
    --shell /usr/sbin/nologin --comment 'Holdfast lock service' holdfast
fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
