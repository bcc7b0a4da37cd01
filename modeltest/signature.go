package modeltest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// A provider signature is the data by which a provider recognizes its own
// reasoning, such as the signature of a thinking block or the encrypted content of a
// reasoning item. This package computes it from the content, so that every modeltest
// server recognizes the signatures of all others, as a provider does after a restart of
// the client.

// account is the owner of signatures. Accounts reject the signatures of other accounts.
type account string

func (a account) mac(purpose string, parts ...string) string {
	mac := hmac.New(sha256.New, []byte("modeltest"+a))
	mac.Write([]byte(purpose))
	for _, p := range parts {
		mac.Write([]byte{0})
		mac.Write([]byte(p))
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signature signs the text of a thinking block.
func (a account) signature(text string) string { return "Eu" + a.mac("thinking", text) }

// redacted returns a thinking block that only the provider can read: a payload with its
// signature.
func (a account) redacted(text string) string {
	payload := base64.StdEncoding.EncodeToString([]byte(text))
	return payload + "." + a.mac("redacted", payload)
}

func (a account) knownRedacted(data string) bool {
	payload, mac, found := strings.Cut(data, ".")
	return found && mac == a.mac("redacted", payload)
}

// encrypted returns the encrypted content of the finished reasoning item with the id.
func (a account) encrypted(id, text string) string {
	payload := base64.StdEncoding.EncodeToString([]byte(id + "\n" + text))
	return "gAAAA" + payload + "." + a.mac("encrypted", payload)
}

// unfinished returns the encrypted content of a reasoning item before it is finished. The server
// never accepts it.
func (a account) unfinished(id string) string { return "gAAAA" + a.mac("unfinished", id) }

// knownEncrypted reports whether data is the encrypted content of the item with the id; of any item
// if id is empty, since requests can leave the id out.
func (a account) knownEncrypted(id, data string) bool {
	body, ours := strings.CutPrefix(data, "gAAAA")
	payload, mac, found := strings.Cut(body, ".")
	if !ours || !found || mac != a.mac("encrypted", payload) {
		return false
	}
	raw, err := base64.StdEncoding.DecodeString(payload)
	owner, _, _ := strings.Cut(string(raw), "\n")
	return err == nil && (id == "" || id == owner)
}
