//go:build machine

package sshsig_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/frontend/about/sshsig"
	"github.com/settle-agent/settle/internal/frontend/about/sshsig/sshsigtest"
)

// keygen runs the real ssh-keygen with a message on its standard input.
func keygen(t *testing.T, message []byte, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ssh-keygen", args...)
	cmd.Stdin = bytes.NewReader(message)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// This package verifies the signatures of ssh-keygen.
func TestKeygenSigns(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if out, err := keygen(t, nil, "-q", "-t", "ed25519", "-N", "", "-C", "a key", "-f", key); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	trusted := signers(t, principal+` namespaces="`+namespace+`" `+string(public))
	listed, err := keygen(t, nil, "-l", "-f", key+".pub")
	if err != nil || !strings.Contains(listed, trusted[0].Fingerprint()) || trusted[0].Comment != "a key" {
		t.Errorf("%s has the fingerprint %s: %v", listed, trusted[0].Fingerprint(), err)
	}
	for i, content := range [][]byte{nil, message, bytes.Repeat([]byte("\x00\xff\r\n"), 1<<18)} {
		for _, hash := range []string{"sha256", "sha512"} {
			name := write(t, filepath.Join(dir, fmt.Sprint(i, hash)), content)
			if out, err := keygen(t, nil, "-Y", "sign", "-n", namespace, "-O", "hashalg="+hash, "-f", key, name); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			signature, err := os.ReadFile(name + ".sig")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sshsig.Verify(trusted, namespace, content, signature); err != nil {
				t.Errorf("%d bytes, %s: %v", len(content), hash, err)
			}
			if _, err := sshsig.Verify(trusted, namespace, append(content, 'x'), signature); err == nil {
				t.Errorf("%d bytes, %s: another message is signed as well", len(content), hash)
			}
		}
	}
}

// ssh-keygen and this package agree about signatures, good and bad, from keys in files
// and on security keys.
func TestKeygenAgrees(t *testing.T) {
	dir := t.TempDir()
	for i, key := range []sshsigtest.Key{sshsigtest.New(1), sshsigtest.NewSecurityKey(2)} {
		text := key.Line(principal, namespace)
		list := write(t, filepath.Join(dir, fmt.Sprint("signers", i)), []byte(text))
		for name, c := range map[string]struct {
			signature []byte
			good      bool
		}{
			"good":              {key.Sign(namespace, message), true},
			"another message":   {key.Sign(namespace, []byte("x")), false},
			"another namespace": {key.Sign("git", message), false},
			"another key":       {sshsigtest.New(9).Sign(namespace, message), false},
			"cut":               {key.Sign(namespace, message)[:120], false},
		} {
			file := write(t, filepath.Join(dir, "signature"), c.signature)
			out, err := keygen(t, message, "-Y", "verify", "-f", list, "-I", principal, "-n", namespace, "-s", file)
			_, ours := sshsig.Verify(signers(t, text), namespace, message, c.signature)
			if (err == nil) != c.good || (ours == nil) != c.good {
				t.Errorf("key %d, %s: ssh-keygen: %v %s; settle: %v", i, name, err, out, ours)
			}
		}
	}
}
