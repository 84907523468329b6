#!/bin/sh
# Ends the services when the package is removed, and not when it is replaced by another version:
# $1 is remove or upgrade for dpkg, and 0 or 1 for rpm.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then systemctl disable --now genway.service genway-core.service genway-edge.service; fi
	;;
esac
