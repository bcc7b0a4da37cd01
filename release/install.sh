#!/bin/sh
# Installs settle <<.Version>> into ~/.local/bin, or into the folder that SETTLE_INSTALL_DIR
# names, and nothing else. It needs curl or wget, tar and sha256sum or shasum.
# SETTLE_INSTALL_URL names another place for the files: an https address, or a folder.
#
# This script has the SHA-256 of each archive. If the release has a signing key, it also
# checks the signature of the release with ssh-keygen. Neither protects you from a changed
# script: docs/release.md says how to verify the script before you run it.
set -eu
version=<<.Version>>
url=${SETTLE_INSTALL_URL:-<<.URL>>/v$version}
to=${SETTLE_INSTALL_DIR:-${HOME:?set HOME or SETTLE_INSTALL_DIR}/.local/bin}

# The public keys that may sign releases: OpenSSH's file of allowed signers.
keys='<<.Keys>>'

fail() {
  echo "install: $1; nothing was installed" >&2
  exit 1
}

case $url in
  https://* | /*) ;;
  *) fail "the address of the files must start with https://, or be the absolute path of a folder, but it is $url" ;;
esac
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

# fetch NAME gets a file of the release, over https only. wget follows a redirect to http,
# so what it got is refused afterwards.
fetch() {
  case $url in
    /*)
      cp "$url/$1" "$scratch/$1" || fail "cannot copy $url/$1"
      return
      ;;
  esac
  if command -v curl >/dev/null; then
    curl --proto '=https' --tlsv1.2 -fsSL "$url/$1" -o "$scratch/$1" || fail "cannot fetch $url/$1 over https"
  elif command -v wget >/dev/null; then
    if ! wget -q -S "$url/$1" -O "$scratch/$1" 2>"$scratch/answers"; then
      cat "$scratch/answers" >&2
      fail "cannot fetch $url/$1"
    fi
    if grep -qi '^ *location: *http:' "$scratch/answers"; then
      fail "$url/$1 redirects to http"
    fi
  else
    fail "curl or wget is needed"
  fi
}

# signed checks that a release key signed checksums.txt and that the list has our archive.
signed() {
  case $(ssh-keygen -Y verify 2>&1 </dev/null) in
    *"option -- "*) return 1 ;; # OpenSSH before 8.0
  esac
  fetch checksums.txt
  fetch checksums.txt.sig
  printf '%s\n' "$keys" >"$scratch/keys"
  good=$(ssh-keygen -Y verify -f "$scratch/keys" -I <<.Signer>> -n <<.Signer>> -s "$scratch/checksums.txt.sig" <"$scratch/checksums.txt") ||
    fail "no release key signed $url/checksums.txt"
  grep -qxF "$sum  $folder.tar.gz" "$scratch/checksums.txt" || fail "$url/checksums.txt is signed, but it is the list of another release than $version"
  echo "$good"
}

if [ -z "$keys" ]; then
  echo "settle $version has no release key: only the checksum of the archive is verified."
elif ! command -v ssh-keygen >/dev/null || ! signed; then
  echo "ssh-keygen (OpenSSH 8.0 or later) is missing: only the checksum of the archive is verified, not the release's signature."
fi
fetch "$folder.tar.gz"
if command -v sha256sum >/dev/null; then
  got=$(sha256sum "$scratch/$folder.tar.gz")
else
  got=$(shasum -a 256 "$scratch/$folder.tar.gz")
fi
[ "${got%% *}" = "$sum" ] || fail "the archive is not the one that was released: its checksum is ${got%% *}, not $sum"
tar -xzf "$scratch/$folder.tar.gz" -C "$scratch" || fail "cannot unpack the archive"
mkdir -p "$to"
cp "$scratch/$folder/settle" "$to/.settle-$$"
chmod 755 "$to/.settle-$$"
mv -f "$to/.settle-$$" "$to/settle" # in one step: a running settle continues with its own
echo "settle $version is now $to/settle"
case :$PATH: in
  *:"$to":*) ;;
  *) echo "Add $to to PATH to call it by name." ;;
esac
echo "To see it work without a key: settle demo. To remove it, delete that file; its data is in ~/.local/share/settle."
