#!/bin/sh
# After a removal. Data, secrets and the user stay, unless dpkg is asked to purge; then only the user does, so that
# no later user gets its id and what may still belong to it.
set -e

if [ "$1" = purge ]; then rm -rf /var/lib/holdfast /etc/holdfast; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
