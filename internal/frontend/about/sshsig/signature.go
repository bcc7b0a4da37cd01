package sshsig

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	preamble = "SSHSIG"
	version  = 1
	armor    = "SSH SIGNATURE"

	// userPresent is the flag of a security key: a person touched it.
	userPresent = 1
)

var errMalformed = errors.New("it is not an OpenSSH signature")

// Verify returns the signer whose key signed the message for the namespace. The
// signature is armored, as "ssh-keygen -Y sign" writes it.
func Verify(signers []Signer, namespace string, message, armored []byte) (Signer, error) {
	s, err := decode(armored)
	if err != nil {
		return Signer{}, err
	}
	if s.namespace != namespace {
		return Signer{}, fmt.Errorf("the signature is for the namespace %q, not %q", s.namespace, namespace)
	}
	for _, signer := range signers {
		if signer.Namespace != namespace || !bytes.Equal(signer.blob, s.key) {
			continue
		}
		if err := s.verify(signer, message); err != nil {
			return Signer{}, err
		}
		return signer, nil
	}
	return Signer{}, fmt.Errorf("the key %s is not one of the trusted keys", fingerprint(s.key))
}

// signature is a decoded signature.
type signature struct {
	key       []byte // wire form
	namespace string
	reserved  string
	hash      string
	blob      []byte // the key's own signature, in wire form
}

func decode(armored []byte) (s signature, err error) {
	armored = bytes.TrimSpace(armored)
	block, rest := pem.Decode(armored)
	if block == nil || block.Type != armor || len(block.Headers) > 0 {
		return s, errMalformed
	}
	if !bytes.HasPrefix(armored, []byte("-----BEGIN")) || len(rest) > 0 { // something before or after it
		return s, errMalformed
	}
	body, ok := bytes.CutPrefix(block.Bytes, []byte(preamble))
	r := reader{rest: body, bad: !ok}
	if v := r.uint32(); !r.bad && v != version {
		return s, fmt.Errorf("signature version %d is not supported", v)
	}
	s.key = r.bytes()
	s.namespace = string(r.bytes())
	s.reserved = string(r.bytes())
	s.hash = string(r.bytes())
	s.blob = r.bytes()
	if !r.complete() {
		return s, errMalformed
	}
	return s, nil
}

// verify reports whether the signer's key made the signature of a message.
func (s signature) verify(signer Signer, message []byte) error {
	var digest []byte
	switch s.hash {
	case "sha512":
		sum := sha512.Sum512(message)
		digest = sum[:]
	case "sha256":
		sum := sha256.Sum256(message)
		digest = sum[:]
	default:
		return fmt.Errorf("the hash algorithm %q is not supported", s.hash)
	}
	signed := []byte(preamble)
	for _, field := range [][]byte{[]byte(s.namespace), []byte(s.reserved), []byte(s.hash), digest} {
		signed = binary.BigEndian.AppendUint32(signed, uint32(len(field)))
		signed = append(signed, field...)
	}
	r := reader{rest: s.blob}
	kind, value := string(r.bytes()), r.bytes()
	if kind == typeSecurityKey {
		flags, counter := r.take(1), r.take(4)
		if r.bad || flags[0]&userPresent == 0 {
			return errors.New("the security key signed without a touch")
		}
		application, hash := sha256.Sum256([]byte(signer.application)), sha256.Sum256(signed)
		signed = bytes.Join([][]byte{application[:], flags, counter, hash[:]}, nil)
	}
	if !r.complete() || kind != signer.kind || len(value) != ed25519.SignatureSize {
		return errMalformed
	}
	if !ed25519.Verify(signer.public, signed, value) {
		return errors.New("the signature does not match the content")
	}
	return nil
}

// reader reads SSH's wire form. After a field that is too short, bad is set and
// everything is empty.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n uint32) []byte {
	if r.bad || uint64(n) > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	field := r.rest[:n]
	r.rest = r.rest[n:]
	return field
}

func (r *reader) uint32() uint32 {
	if field := r.take(4); field != nil {
		return binary.BigEndian.Uint32(field)
	}
	return 0
}

func (r *reader) bytes() []byte { return r.take(r.uint32()) }

// complete reports whether all was read, and nothing was missing.
func (r *reader) complete() bool { return !r.bad && len(r.rest) == 0 }
