#!/bin/sh
# Before a removal and before an upgrade. dpkg says remove, and rpm 0, when no version stays.
set -e

case "$1" in
  remove | 0)
    if [ -d /run/systemd/system ]; then systemctl --quiet disable --now holdfast.service; fi
    ;;
esac
