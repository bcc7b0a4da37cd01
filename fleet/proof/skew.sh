#!/bin/sh
# Runs TestClockSkew: go test is given a package time whose clock is wrong by the
# seconds in $FLEET_PROOF_SKEW. It builds everything anew, which takes minutes.
#
#   fleet/proof/skew.sh [FLAG…]      -tasks N, -seed N
set -eu
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
src=$(go env GOROOT)/src/time
sed 's|^\tsec, nsec, mono := runtimeNow()$|&\n\tsec += skew|' "$src/time.go" > "$dir/time.go"
! cmp -s "$src/time.go" "$dir/time.go" || { echo "time.Now is another one in this version of Go" >&2; exit 1; }
cat > "$dir/skew.go" <<'GO'
package time

import "syscall"

var skew = func() (n int64) {
	text, _ := syscall.Getenv("FLEET_PROOF_SKEW")
	sign := int64(1)
	for _, c := range text {
		if c == '-' {
			sign = -1
			continue
		}
		n = 10*n + int64(c-'0')
	}
	return sign * n
}()
GO
printf '{"Replace": {"%s": "%s", "%s": "%s"}}' "$src/time.go" "$dir/time.go" "$src/skew.go" "$dir/skew.go" > "$dir/overlay.json"
go test -overlay "$dir/overlay.json" -tags skew -count=1 -v -run TestClockSkew . "$@"
