#!/bin/sh
# Makes the user and the directories. No service is started: which of the three runs here is the
# operator's choice.
set -e
if command -v systemd-sysusers >/dev/null; then systemd-sysusers genway.conf; fi
if command -v systemd-tmpfiles >/dev/null; then systemd-tmpfiles --create genway.conf; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
