package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	checksumsFile = "checksums.txt"
	// signer is the principal and the namespace of release keys. internal/frontend/about
	// has the same.
	signer = "settle-release"
	// keysFile has the public keys that may sign, from the checkout's root. The settle
	// binary embeds it.
	keysFile = "cmd/settle/release_keys"
)

// keyLine is a line of keysFile. Nothing in it needs quotes in a shell script.
var keyLine = regexp.MustCompile(`^settle-release namespaces="settle-release" ` +
	`(ssh-ed25519|sk-ssh-ed25519@openssh\.com) [A-Za-z0-9+/=]+( [A-Za-z0-9 ._@:,+-]*)?$`)

// trust reads which keys may sign. They are a part of the commit, as the check that
// install.sh and "settle update" make: with a key in the list, they refuse a release
// without a signature.
func (r *release) trust() error {
	text, err := os.ReadFile(filepath.Join(r.root, keysFile))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !keyLine.MatchString(line) {
			return fmt.Errorf("cannot read %s: %q is not a release key", keysFile, line)
		}
		r.keys = append(r.keys, line)
	}
	if r.signKey == "" {
		return nil
	}
	if len(r.keys) == 0 {
		return fmt.Errorf("cannot sign: %s has no key, so no user could verify the signature", keysFile)
	}
	r.signKey, err = filepath.Abs(r.signKey)
	return err
}

// sign signs the list of checksums, and checks the signature as users do.
func (r *release) sign() error {
	if r.signKey == "" {
		return nil
	}
	list := filepath.Join(r.out, checksumsFile)
	cmd := exec.Command("ssh-keygen", "-Y", "sign", "-n", signer, "-f", r.signKey, list)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr // for a passphrase, and for "touch the key"
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ssh-keygen: %w", err)
	}
	keys := filepath.Join(r.scratch, "keys")
	if err := os.WriteFile(keys, []byte(strings.Join(r.keys, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	in, err := os.Open(list)
	if err != nil {
		return err
	}
	defer in.Close()
	verify := exec.Command("ssh-keygen", "-Y", "verify", "-f", keys, "-I", signer, "-n", signer, "-s", list+".sig")
	verify.Stdin = in
	if out, err := verify.CombinedOutput(); err != nil {
		// A signature that no user accepts must not be published.
		err = fmt.Errorf("the key %s is not in %s: %w: %s", r.signKey, keysFile, err, strings.TrimSpace(string(out)))
		return errors.Join(err, os.Remove(list+".sig"))
	}
	return nil
}

// unsigned is the warning about a release without a signature.
func (r *release) unsigned() string {
	warning := "\nNOT SIGNED: users cannot verify who made this release. "
	if len(r.keys) > 0 {
		return warning + "Its install.sh and \"settle update\" refuse it. Sign it with -sign-key before you publish it."
	}
	return warning + "There is no key in " + keysFile +
		", so its install.sh and \"settle update\" say that they verified no signature."
}
