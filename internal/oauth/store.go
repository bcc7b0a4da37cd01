package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

const (
	// maxEntry bounds the stored entry of a server in bytes.
	maxEntry = 256 << 10
	// expiryMargin is the time before its expiry at which a token counts as expired.
	expiryMargin = 10 * time.Second
)

// Store keeps the logins to servers: one file for each server URL, readable by the user
// alone. The zero Store keeps nothing.
type Store struct{ dir string }

// NewStore returns the store of a data directory; "" for no store.
func NewStore(dataDir string) Store {
	if dataDir == "" {
		return Store{}
	}
	return Store{filepath.Join(dataDir, "mcp-logins")}
}

// Entry is the stored login to one server.
type Entry struct {
	// URL is the server's URL, and Resource the resource that its tokens are for.
	URL      string `json:"url"`
	Resource string `json:"resource,omitempty"`
	// Issuer is the authorization server; TokenURL and RevokeURL are its endpoints.
	Issuer    string `json:"issuer,omitempty"`
	TokenURL  string `json:"token_url,omitempty"`
	RevokeURL string `json:"revoke_url,omitempty"`
	Client    Client `json:"client,omitzero"`
	// Scopes are the granted scopes, or the scopes that the server requires.
	Scopes []string `json:"scopes,omitempty"`
	// Access and Refresh are the tokens. Without Access, the person must log in.
	Access  string    `json:"access_token,omitempty"`
	Refresh string    `json:"refresh_token,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
}

// Client is settle's registration at an authorization server.
type Client struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret,omitempty"`
	// Method is the client authentication at the token endpoint: none, client_secret_post
	// or client_secret_basic.
	Method string `json:"token_endpoint_auth_method,omitempty"`
}

// Secrets are the values of the entry that must not be shown (C15).
func (e *Entry) Secrets() []string {
	var secrets []string
	for _, secret := range []string{e.Access, e.Refresh, e.Client.Secret} {
		if secret != "" {
			secrets = append(secrets, secret)
		}
	}
	return secrets
}

// valid reports whether the access token can be sent: it has not expired, and the server
// has not refused it.
func (e *Entry) valid(refused string) bool {
	return e.Access != "" && e.Access != refused && (e.Expires.IsZero() || time.Until(e.Expires) > expiryMargin)
}

// clear removes the tokens; the person must log in again.
func (e *Entry) clear() { e.Access, e.Refresh, e.Expires = "", "", time.Time{} }

func (s Store) path(url, suffix string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+suffix)
}

// Read returns the entry of the server; false if there is none.
func (s Store) Read(url string) (Entry, bool) {
	if s.dir == "" {
		return Entry{}, false
	}
	data, size, err := disk.Read(s.path(url, ".json"), maxEntry)
	var e Entry
	if err != nil || size > maxEntry || json.Unmarshal(data, &e) != nil || e.URL != url {
		return Entry{}, false
	}
	return e, true
}

// Secrets are the values of the login to the server that must not be shown.
func (s Store) Secrets(url string) []string {
	e, _ := s.Read(url)
	return e.Secrets()
}

// write stores the entry atomically.
func (s Store) write(e *Entry) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot keep the login: %w", err)
		}
	}()
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return disk.ReplaceDurably(s.path(e.URL, ".json"), append(data, '\n'))
}

// change changes the entry of a server, in one process at a time. If change returns an
// error, the entry stays unchanged; an entry without a URL is removed.
func (s Store) change(ctx context.Context, url string, change func(e *Entry) error) error {
	if s.dir == "" {
		return errors.New("cannot keep a login without a data directory")
	}
	lock, err := disk.Lock(ctx, s.path(url, ".lock"))
	if err != nil {
		return fmt.Errorf("cannot lock the login: %w", err)
	}
	defer func() { _ = lock.Close() }() // the kernel releases the lock
	e, ok := s.Read(url)
	if !ok {
		e = Entry{URL: url}
	}
	if err := change(&e); err != nil {
		return err
	}
	if e.URL != "" {
		return s.write(&e)
	}
	if err := os.Remove(s.path(url, ".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the login: %w", err)
	}
	return nil
}
