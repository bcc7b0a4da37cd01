package sshsig_test

import (
	"encoding/pem"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/frontend/about/sshsig"
	"github.com/settle-agent/settle/internal/frontend/about/sshsig/sshsigtest"
)

const (
	principal = "settle-release"
	namespace = "settle-release"
)

var message = []byte("the checksums\n")

func signers(t testing.TB, text string) []sshsig.Signer {
	t.Helper()
	s, err := sshsig.ParseSigners([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVerify(t *testing.T) {
	file, touch, untrusted := sshsigtest.New(1), sshsigtest.NewSecurityKey(2), sshsigtest.New(3)
	untouched := touch
	untouched.Flags = 0
	trusted := signers(
		t,
		"# a comment\n\n"+file.Line(
			principal,
			namespace,
		)+touch.Line(
			principal,
			namespace,
		)+untrusted.Line(
			principal,
			"git",
		),
	)
	good := string(file.Sign(namespace, message))
	for _, c := range []struct {
		name, signature, message, want string
	}{
		{"a key in a file", good, string(message), ""},
		{"a security key", string(touch.Sign(namespace, message)), string(message), ""},
		{"white space around it", "\n" + good + "\n", string(message), ""},
		{"another message", good, "the checksums", "does not match the content"},
		{"a security key and another message", string(touch.Sign(namespace, message)), "the checksums", "does not match the content"},
		{"a security key without a touch", string(untouched.Sign(namespace, message)), string(message), "without a touch"},
		{"a key that is not trusted", string(sshsigtest.New(4).Sign(namespace, message)), string(message), "is not one of the trusted keys"},
		{"a key that is trusted for git", string(untrusted.Sign(namespace, message)), string(message), "is not one of the trusted keys"},
		{"another namespace", string(file.Sign("git", message)), string(message), `is for the namespace "git", not "settle-release"`},
		{"nothing", "", string(message), "not an OpenSSH signature"},
		{"something before it", "x" + good, string(message), "not an OpenSSH signature"},
		{"something after it", good + "x", string(message), "not an OpenSSH signature"},
		{"two", good + good, string(message), "not an OpenSSH signature"},
		{"half", good[:len(good)/2], string(message), "not an OpenSSH signature"},
		{"another kind", strings.ReplaceAll(good, "SSH SIGNATURE", "PGP SIGNATURE"), string(message), "not an OpenSSH signature"},
	} {
		got, err := sshsig.Verify(trusted, namespace, []byte(c.message), []byte(c.signature))
		if c.want == "" && (err != nil || got.Principal != principal) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	if _, err := sshsig.Verify(nil, namespace, message, []byte(good)); err == nil {
		t.Error("no key is trusted, and the signature is good")
	}
}

// No byte of a signature can change, and none can be missing or added.
func TestVerifyEveryByte(t *testing.T) {
	for _, key := range []sshsigtest.Key{sshsigtest.New(1), sshsigtest.NewSecurityKey(2)} {
		trusted := signers(t, key.Line(principal, namespace))
		block, _ := pem.Decode(key.Sign(namespace, message))
		try := func(body []byte) error {
			_, err := sshsig.Verify(
				trusted,
				namespace,
				message,
				pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: body}),
			)
			return err
		}
		if err := try(block.Bytes); err != nil {
			t.Fatal(err)
		}
		for i := range block.Bytes {
			for _, flip := range []byte{1, 0x80, 0xff} {
				body := append([]byte(nil), block.Bytes...)
				body[i] ^= flip
				if try(body) == nil {
					t.Errorf("byte %d changed by %#x, and the signature is good", i, flip)
				}
			}
			if try(block.Bytes[:i]) == nil {
				t.Errorf("%d bytes of a signature are good", i)
			}
		}
		if try(append(block.Bytes, 0)) == nil {
			t.Error("a byte more, and the signature is good")
		}
	}
}

func TestParseSigners(t *testing.T) {
	good := sshsigtest.New(1).Line(principal, namespace)
	for text, want := range map[string]string{
		"":                            "",
		"# nothing\n\n":               "",
		good:                          "",
		strings.TrimSpace(good):       "",
		"# one\n" + good + "#" + good: "",
		good + good:                   "line 2 of the trusted keys: the key is in the file twice",
		strings.Replace(good, `namespaces="settle-release"`, "", 1):                                                    "is not one principal",
		strings.Replace(good, `namespaces="settle-release"`, `namespaces="*"`, 1):                                      "is not one principal",
		strings.Replace(good, `namespaces="settle-release"`, `namespaces="settle-release,git"`, 1):                     "is not one principal",
		strings.Replace(good, `namespaces="settle-release"`, `namespaces="settle-release",valid-before="20200101"`, 1): "is not one principal",
		strings.Replace(good, `namespaces="settle-release"`, `cert-authority,namespaces="settle-release"`, 1):          "is not one principal",
		"*" + strings.TrimPrefix(good, principal):                                                                      "is not one principal",
		strings.Replace(good, "ssh-ed25519", "ssh-rsa", 1):                                                             "is not a key of type",
		strings.Replace(good, "ssh-ed25519", "sk-ssh-ed25519@openssh.com", 1):                                          "is not a key of type",
		strings.Replace(good, "AAAA", "AAA", 1):                                                                        "not in base64",
		strings.Replace(good, "AAAA", "AAAB", 1):                                                                       "is not a key of type",
		principal:                                                                                                      "fewer than four fields",
	} {
		got, err := sshsig.ParseSigners([]byte(text))
		if want == "" && (err != nil || len(got) != strings.Count("\n"+text, "\n"+principal)) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	key := sshsigtest.New(1)
	trusted := signers(f, key.Line(principal, namespace))
	good := key.Sign(namespace, message)
	f.Add(good, message)
	f.Add(sshsigtest.NewSecurityKey(1).Sign(namespace, message), message)
	f.Fuzz(func(t *testing.T, signature, content []byte) {
		_, err := sshsig.Verify(trusted, namespace, content, signature)
		if err == nil && string(content) != string(message) {
			t.Errorf("%q is a signature of %q", signature, content)
		}
	})
}
