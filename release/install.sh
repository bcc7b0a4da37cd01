#!/bin/sh
# Installs settle <<.Version>> into ~/.local/bin, or into the folder that SETTLE_INSTALL_DIR
# names, and nothing else. It needs curl or wget, tar and sha256sum or shasum.
set -eu
version=<<.Version>>
url=${SETTLE_INSTALL_URL:-<<.URL>>/v$version}
to=${SETTLE_INSTALL_DIR:-${HOME:?set HOME or SETTLE_INSTALL_DIR}/.local/bin}

fail() {
  echo "install: $1; nothing was installed" >&2
  exit 1
}

case $(uname -s) in
  Linux) system=linux ;;
  Darwin) system=darwin ;;
  *) fail "there is no archive for $(uname -s); see <<.Homepage>>" ;;
esac
case $(uname -m) in
  x86_64 | amd64) machine=amd64 ;;
  aarch64 | arm64) machine=arm64 ;;
  *) fail "there is no archive for $(uname -m); see <<.Homepage>>" ;;
esac
case $system/$machine in
  linux/amd64) sum=<<call .Sum "linux_amd64">> ;;
  linux/arm64) sum=<<call .Sum "linux_arm64">> ;;
  darwin/amd64) sum=<<call .Sum "darwin_amd64">> ;;
  darwin/arm64) sum=<<call .Sum "darwin_arm64">> ;;
esac

folder=settle_${version}_${system}_$machine
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM HUP
if command -v curl >/dev/null; then
  curl -fsSL "$url/$folder.tar.gz" -o "$scratch/archive" || fail "cannot fetch $url/$folder.tar.gz"
elif command -v wget >/dev/null; then
  wget -q "$url/$folder.tar.gz" -O "$scratch/archive" || fail "cannot fetch $url/$folder.tar.gz"
else
  fail "curl or wget is needed"
fi
if command -v sha256sum >/dev/null; then
  got=$(sha256sum "$scratch/archive")
else
  got=$(shasum -a 256 "$scratch/archive")
fi
[ "${got%% *}" = "$sum" ] || fail "the archive is not the one that was released: its checksum is ${got%% *}, not $sum"
tar -xzf "$scratch/archive" -C "$scratch" || fail "cannot unpack the archive"
mkdir -p "$to"
cp "$scratch/$folder/settle" "$to/.settle-$$"
chmod 755 "$to/.settle-$$"
mv -f "$to/.settle-$$" "$to/settle" # in one step: a settle that runs goes on with its own
echo "settle $version is now $to/settle"
case :$PATH: in
  *:"$to":*) ;;
  *) echo "Add $to to PATH to call it by name." ;;
esac
echo "To see it work without a key: settle demo. To remove it, delete that file; its data is in ~/.local/share/settle."
