#!/bin/sh
# Runs TestNetworkCuts: as root, in a network of its own, which is gone afterwards.
#
#   fleet/proof/network.sh [FLAG…]      -handy N, -seed N
set -eu
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go test -c -tags network -o "$dir/proof.test" .
mkdir -p /run/netns
unshare --net --mount sh -c '
	mount -t tmpfs none /run/netns # where the kernel keeps the names of networks
	ip link set lo up
	exec "$@"' sh "$dir/proof.test" -test.v -test.run TestNetworkCuts "$@"
