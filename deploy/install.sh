#!/bin/sh
# Installs a release of Genway for Linux or macOS: its programs, whose archive must have the sum that the release signed.
#
#   curl -fsSL https://github.com/genway/genway/releases/latest/download/install.sh | sh
#
# GENWAY_VERSION      X.Y.Z; default: the latest release
# GENWAY_INSTALL_DIR  where the programs go; default: ~/.local/bin
# GENWAY_RELEASES     the URL of the releases; default: https://github.com/genway/genway/releases
# GENWAY_COSIGN_KEY   the public key of a mirror that has signed the checksums itself (cosign sign-blob --key KEY --bundle
#                     checksums.txt.sigstore.json checksums.txt); default: the identity of the workflow that made the release
# GENWAY_VERIFY       "checksum": do without the signature, where there is no cosign
#
# Nothing is installed unless all of it has been verified.
set -eu

fail() {
	echo "install.sh: $*" >&2
	exit 1
}
needed() {
	command -v "$1" >/dev/null 2>&1 || fail "$1 is not installed${2:+; $2}"
}
needed curl
needed tar

releases=${GENWAY_RELEASES:-https://github.com/genway/genway/releases}
target=${GENWAY_INSTALL_DIR:-${HOME:?}/.local/bin}
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "no release for $(uname -s); Windows: download the zip from $releases" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "no release for $(uname -m)" ;;
esac

version=${GENWAY_VERSION:-}
if [ -z "$version" ]; then
	# The latest release is a redirection to …/tag/vX.Y.Z.
	latest=$(curl -fsSLI -o /dev/null -w '%{url_effective}' "$releases/latest") || fail "cannot reach $releases"
	version=${latest##*/}
fi
version=${version#v}
case $version in
*[!0-9A-Za-z.-]* | '') fail "\"$version\" is not a version" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
archive=genway_${version}_${os}_${arch}.tar.gz
for file in "$archive" checksums.txt checksums.txt.sigstore.json; do
	curl -fsSL -o "$work/$file" "$releases/download/v$version/$file" || fail "cannot download $releases/download/v$version/$file"
done

if [ "${GENWAY_VERIFY:-}" = checksum ]; then
	echo "install.sh: the signature is not verified (GENWAY_VERIFY=checksum)" >&2
else
	needed cosign "see https://docs.sigstore.dev/cosign/system_config/installation, or set GENWAY_VERIFY=checksum to do without the signature"
	if [ -n "${GENWAY_COSIGN_KEY:-}" ]; then
		set -- --key "$GENWAY_COSIGN_KEY" --private-infrastructure
	else
		set -- --certificate-oidc-issuer https://token.actions.githubusercontent.com \
			--certificate-identity "https://github.com/genway/genway/.github/workflows/release.yaml@refs/tags/v$version"
	fi
	cosign verify-blob "$work/checksums.txt" --bundle "$work/checksums.txt.sigstore.json" "$@" || fail "the signature of the checksums is not valid"
fi
grep -E "^[0-9a-f]{64}  $archive\$" "$work/checksums.txt" >"$work/sum" || fail "checksums.txt has no sum of $archive"
if command -v sha256sum >/dev/null 2>&1; then
	(cd "$work" && sha256sum -c sum >/dev/null) || fail "$archive has another sum than the release"
else
	(cd "$work" && shasum -a 256 -c sum >/dev/null) || fail "$archive has another sum than the release"
fi

mkdir "$work/out"
tar -xzf "$work/$archive" -C "$work/out"
mkdir -p "$target"
for program in genway genway-core genway-edge genway-conformance; do
	# A program that runs keeps its file: the new one takes its name.
	cp "$work/out/$program" "$target/.$program.new"
	chmod 755 "$target/.$program.new"
	mv -f "$target/.$program.new" "$target/$program"
done
"$target/genway" version
case :$PATH: in
*:"$target":*) ;;
*) echo "install.sh: $target is not in PATH" >&2 ;;
esac
