package assemble

import (
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
)

// Author is the source of a session's settings.
type Author string

// The authors.
const (
	// Client is a program that uses settle over a protocol. It can only tighten the user's
	// configuration.
	Client Author = ""
	// User is the user, who wrote the command line.
	User Author = "user"
)

// Tighten returns the stricter of the user's configuration and a client's wish. Without a
// configuration, the client's wish applies. Every frontend's modes, sandboxes and rules
// pass through Tighten.
func Tighten(user settle.Permission, client Mode) Mode {
	client.Permission = user.Stricter(client.Permission)
	client.Rules = slices.DeleteFunc(slices.Clone(client.Rules), func(r config.Rule) bool {
		return r.Decision.Strictness() < user.Strictness()
	})
	return client
}

// Within reports whether a mode is no looser than the user's configuration.
func Within(user settle.Permission, client Mode) bool {
	got := Tighten(user, client)
	return got.Permission == client.Permission && len(got.Rules) == len(client.Rules)
}
