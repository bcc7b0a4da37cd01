package guard

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

const (
	tokenBytes = 32
	// minTokenBytes is the minimum length of a user's token.
	minTokenBytes = 16
	maxTokenBytes = 4 << 10
)

// NewToken returns a random token of 256 bits.
func NewToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// ReadToken returns the token in a file.
func ReadToken(path string) (string, error) {
	b, err := disk.ReadRegular(path, maxTokenBytes)
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w; \"openssl rand -hex 32\" makes one", err)
	}
	token := strings.TrimSpace(string(b))
	switch {
	case len(token) < minTokenBytes:
		return "", fmt.Errorf(
			"cannot use %q as a token: it has fewer than %d characters; \"openssl rand -hex 32\" makes a better one",
			path, minTokenBytes,
		)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf(
			"cannot use %q as a token: it has characters that are not printable ASCII, or spaces", path,
		)
	}
	return token, nil
}

// Digest compares secrets in constant time, also if their lengths differ.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a secret.
func DigestOf(secret string) Digest { return sha256.Sum256([]byte(secret)) }

// Matches reports whether another is the secret.
func (d Digest) Matches(secret string) bool {
	digest := DigestOf(secret)
	return subtle.ConstantTimeCompare(d[:], digest[:]) == 1
}
