// Package sshsigtest makes keys and signatures for tests of what verifies them. Its
// keys come from a number, so that a test signs the same each time; they protect nothing.
package sshsigtest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
)

const (
	keyType         = "ssh-ed25519"
	securityKeyType = "sk-ssh-ed25519@openssh.com"
	application     = "ssh:settle-test"
)

// Key is a private key for tests.
type Key struct {
	private     ed25519.PrivateKey
	securityKey bool
	Flags       byte // of a security key: 1 if a person touched it
}

// New returns the key of a number.
func New(number byte) Key {
	return Key{private: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{number}, ed25519.SeedSize))}
}

// NewSecurityKey returns the key of a number, as if it were on a security key that a
// person touches.
func NewSecurityKey(number byte) Key {
	k := New(number)
	k.securityKey, k.Flags = true, 1
	return k
}

func (k Key) kind() string {
	if k.securityKey {
		return securityKeyType
	}
	return keyType
}

func (k Key) blob() []byte {
	b := appendStrings(nil, []byte(k.kind()), k.private.Public().(ed25519.PublicKey))
	if k.securityKey {
		b = appendStrings(b, []byte(application))
	}
	return b
}

// Line returns the key's line in a file of allowed signers.
func (k Key) Line(principal, namespace string) string {
	blob := base64.StdEncoding.EncodeToString(k.blob())
	return fmt.Sprintf("%s namespaces=%q %s %s for tests\n", principal, namespace, k.kind(), blob)
}

// Sign returns the armored signature of a message.
func (k Key) Sign(namespace string, message []byte) []byte {
	digest := sha512.Sum512(message)
	signed := appendStrings([]byte("SSHSIG"), []byte(namespace), nil, []byte("sha512"), digest[:])
	var trailer []byte
	if k.securityKey {
		trailer = []byte{k.Flags, 0, 0, 0, 7}
		app, hash := sha256.Sum256([]byte(application)), sha256.Sum256(signed)
		signed = bytes.Join([][]byte{app[:], trailer, hash[:]}, nil)
	}
	blob := append(appendStrings(nil, []byte(k.kind()), ed25519.Sign(k.private, signed)), trailer...)
	body := appendStrings([]byte("SSHSIG\x00\x00\x00\x01"), k.blob(), []byte(namespace), nil, []byte("sha512"), blob)
	return pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: body})
}

func appendStrings(b []byte, fields ...[]byte) []byte {
	for _, field := range fields {
		b = binary.BigEndian.AppendUint32(b, uint32(len(field)))
		b = append(b, field...)
	}
	return b
}
