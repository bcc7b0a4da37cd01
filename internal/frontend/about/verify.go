package about

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/frontend/about/sshsig"
)

const (
	// ReleaseSigner is the principal and the namespace of release keys.
	ReleaseSigner = "settle-release"

	checksumsFile  = "checksums.txt"
	signatureFile  = checksumsFile + ".sig"
	maxChecksums   = 1 << 20
	maxSignature   = 8 << 10
	maxArchive     = 256 << 20
	archiveTimeout = 10 * time.Minute
)

// ReleaseKeys reads the release keys that a build trusts: a file of allowed signers. A
// file without a key is no error; such a build cannot verify releases.
func ReleaseKeys(file []byte) ([]sshsig.Signer, error) {
	keys, err := sshsig.ParseSigners(file)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if key.Principal != ReleaseSigner || key.Namespace != ReleaseSigner {
			return nil, fmt.Errorf("cannot trust the key %s: it is of %q for %q, not of and for %q",
				key.Fingerprint(), key.Principal, key.Namespace, ReleaseSigner)
		}
	}
	return keys, nil
}

// verified is a release whose checksums are signed by a trusted key.
type verified struct {
	Release
	signer sshsig.Signer
	sums   map[string]string // SHA-256 in hexadecimal, by the file's name
}

// verify fetches a release's checksums and checks who signed them, and that they are
// the checksums of this version: an older release is signed as well.
func verify(ctx context.Context, client *http.Client, keys []sshsig.Signer, r Release) (verified, error) {
	v := verified{Release: r}
	list, err := download(ctx, client, r.Files+"/"+checksumsFile, maxChecksums, indexTimeout)
	if err != nil {
		return v, err
	}
	signature, err := download(ctx, client, r.Files+"/"+signatureFile, maxSignature, indexTimeout)
	if err != nil {
		return v, err
	}
	if v.signer, err = sshsig.Verify(keys, ReleaseSigner, list, signature); err != nil {
		return v, fmt.Errorf("%s: %w", signatureFile, err)
	}
	if v.sums, err = parseChecksums(list, r.Version); err != nil {
		return v, fmt.Errorf("%s: %w", checksumsFile, err)
	}
	return v, nil
}

// parseChecksums reads a list as sha256sum writes it. The names of the archives have
// the version of the release.
func parseChecksums(list []byte, version string) (map[string]string, error) {
	sums := map[string]string{}
	archives := 0
	for line := range bytes.Lines(list) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), "  ")
		digest, err := hex.DecodeString(sum)
		if !ok || err != nil || len(digest) != sha256.Size || name == "" {
			return nil, errors.New("it is not a list of checksums")
		}
		if sums[name] != "" {
			return nil, fmt.Errorf("%q is in the list twice", name)
		}
		sums[name] = hex.EncodeToString(digest)
		if !strings.HasPrefix(name, "settle_") || !strings.HasSuffix(name, ".tar.gz") {
			continue
		}
		archives++
		if !strings.HasPrefix(name, "settle_"+version+"_") {
			return nil, fmt.Errorf("it is the list of another release than %s: it names %q", version, name)
		}
	}
	if archives == 0 {
		return nil, errors.New("it names no archive")
	}
	return sums, nil
}

// fetch downloads a file of the release, and returns it if it has the signed checksum.
func (v verified) fetch(ctx context.Context, client *http.Client, name string) ([]byte, error) {
	want, ok := v.sums[name]
	if !ok {
		return nil, fmt.Errorf("the release has no %s", name)
	}
	data, err := download(ctx, client, v.Files+"/"+name, maxArchive, archiveTimeout)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
		return nil, fmt.Errorf("%s is not the file that was signed: its SHA-256 is %x, not %s", name, sum, want)
	}
	return data, nil
}
