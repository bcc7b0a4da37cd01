package event

import "slices"

// Permission is what happens to a call: it runs, somebody is asked, or it is
// denied. The empty one says nothing.
type Permission string

// The permissions, from the loosest to the strictest.
const (
	Allow Permission = "allow"
	Ask   Permission = "ask"
	Deny  Permission = "deny"
)

// Permissions are all of them, from the loosest to the strictest.
func Permissions() []Permission { return []Permission{Allow, Ask, Deny} }

// Strictness orders permissions: that of an empty or unknown one is negative.
func (p Permission) Strictness() int { return slices.Index(Permissions(), p) }

// Stricter returns the stricter of two permissions, and the first of equal
// ones.
func (p Permission) Stricter(than Permission) Permission {
	if than.Strictness() > p.Strictness() {
		return than
	}
	return p
}
