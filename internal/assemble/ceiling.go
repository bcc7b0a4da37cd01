package assemble

import (
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
)

// Author is who says how a session is to work.
type Author string

// The authors.
const (
	// Client is a program at one of the protocols. It can only tighten what
	// the user configured.
	Client Author = ""
	// User is whoever wrote the command line.
	User Author = "user"
)

// Tighten returns the stricter of what the user configured and what a client
// wishes. Where the user configured nothing, the client's wish holds. Every
// face's modes, sandboxes and rules go through it (DESIGN.md, section 9).
func Tighten(user settle.Permission, wish Mode) Mode {
	wish.Permission = user.Stricter(wish.Permission)
	wish.Rules = slices.DeleteFunc(slices.Clone(wish.Rules), func(r config.Rule) bool {
		return r.Decision.Strictness() < user.Strictness()
	})
	return wish
}

// Within reports whether a mode is no looser than what the user configured.
func Within(user settle.Permission, wish Mode) bool {
	got := Tighten(user, wish)
	return got.Permission == wish.Permission && len(got.Rules) == len(wish.Rules)
}
