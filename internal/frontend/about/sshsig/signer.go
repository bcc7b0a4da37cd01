package sshsig

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

const (
	typeKey         = "ssh-ed25519"
	typeSecurityKey = "sk-ssh-ed25519@openssh.com"
)

// Signer is a trusted public key: one line of a file of allowed signers.
type Signer struct {
	Principal string
	Namespace string // the purpose for which the key can sign
	Comment   string

	blob        []byte // the key's wire form
	kind        string
	public      ed25519.PublicKey
	application string // of a security key
}

// Fingerprint returns the key's fingerprint, as ssh-keygen prints it.
func (s Signer) Fingerprint() string { return fingerprint(s.blob) }

func fingerprint(blob []byte) string {
	sum := sha256.Sum256(blob)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// ParseSigners reads a file of allowed signers (ssh-keygen(1), ALLOWED SIGNERS). Each
// line is
//
//	PRINCIPAL namespaces="NAMESPACE" TYPE KEY [COMMENT]
//
// with one principal and one namespace. Every other option is an error: a reader that
// ignored valid-before, for example, would trust more than ssh-keygen does.
func ParseSigners(text []byte) (signers []Signer, err error) {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		s, err := parseSigner(fields)
		if err != nil {
			return nil, fmt.Errorf("cannot read line %d of the trusted keys: %w", number, err)
		}
		for _, earlier := range signers {
			if bytes.Equal(earlier.blob, s.blob) {
				return nil, fmt.Errorf("cannot read line %d of the trusted keys: the key is in the file twice", number)
			}
		}
		signers = append(signers, s)
	}
	return signers, nil
}

func parseSigner(fields []string) (s Signer, err error) {
	if len(fields) < 4 {
		return s, fmt.Errorf("%q has fewer than four fields", strings.Join(fields, " "))
	}
	namespace, ok := strings.CutPrefix(fields[1], `namespaces="`)
	namespace, closed := strings.CutSuffix(namespace, `"`)
	for _, word := range []string{fields[0], namespace} {
		if word == "" || strings.ContainsAny(word, `*?!,"'`) {
			ok = false
		}
	}
	if !ok || !closed {
		return s, fmt.Errorf(`%q is not one principal, followed by namespaces="NAMESPACE"`, fields[0]+" "+fields[1])
	}
	s = Signer{Principal: fields[0], Namespace: namespace, Comment: strings.Join(fields[4:], " ")}
	if s.blob, err = base64.StdEncoding.DecodeString(fields[3]); err != nil {
		return s, fmt.Errorf("the key is not in base64: %w", err)
	}
	r := reader{rest: s.blob}
	s.kind, s.public = string(r.bytes()), r.bytes()
	if s.kind == typeSecurityKey {
		s.application = string(r.bytes())
	}
	known := s.kind == typeKey || s.kind == typeSecurityKey
	if !r.complete() || s.kind != fields[2] || !known || len(s.public) != ed25519.PublicKeySize {
		return s, fmt.Errorf("%q is not a key of type %s or %s", fields[2], typeKey, typeSecurityKey)
	}
	return s, nil
}
