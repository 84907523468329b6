#!/bin/sh
# Ends and disables the services when the package is removed, and not when it is replaced by another
# version: $1 is remove or upgrade for dpkg, and 0 or 1 for rpm. Where systemd does not run, as in the
# build of a machine's image, it disables them alone.
set -e
case "$1" in
remove | 0)
	now=
	if [ -d /run/systemd/system ]; then now=--now; fi
	if command -v systemctl >/dev/null; then systemctl disable $now genway.service genway-core.service genway-edge.service; fi
	;;
esac
