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
	// Client is a program on the other side of a protocol. It can only tighten the user's
	// configuration.
	Client Author = ""
	// User is the user, who wrote the command line.
	User Author = "user"
)

// Tighten returns the stricter of the user's configuration and a client's wish. Without a
// configuration, the client's wish applies. Every frontend's modes, sandboxes and rules
// pass through Tighten (DESIGN.md, section 9).
func Tighten(user settle.Permission, wish Mode) Mode {
	wish.Permission = user.Stricter(wish.Permission)
	wish.Rules = slices.DeleteFunc(slices.Clone(wish.Rules), func(r config.Rule) bool {
		return r.Decision.Strictness() < user.Strictness()
	})
	return wish
}

// Within reports whether a mode is no looser than the user's configuration.
func Within(user settle.Permission, wish Mode) bool {
	got := Tighten(user, wish)
	return got.Permission == wish.Permission && len(got.Rules) == len(wish.Rules)
}
