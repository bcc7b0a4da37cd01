package event

import "slices"

// Permission is a decision about a call: it runs, it needs an approval, or it is denied.
// The empty permission decides nothing.
type Permission string

// The permissions, from the loosest to the strictest.
const (
	Allow Permission = "allow"
	Ask   Permission = "ask"
	Deny  Permission = "deny"
)

// Review is a permission of a session, not a decision about a call: where Ask asks a person, a
// second model can allow the call first. It is looser than Ask and stricter than Allow.
const Review Permission = "review"

// Permissions are all of them, from the loosest to the strictest.
func Permissions() []Permission { return []Permission{Allow, Ask, Deny} }

// Strictness orders permissions; it is negative for empty and unknown ones.
func (p Permission) Strictness() int { return slices.Index([]Permission{Allow, Review, Ask, Deny}, p) }

// Stricter returns the stricter of two permissions, and the first of equal
// ones.
func (p Permission) Stricter(than Permission) Permission {
	if than.Strictness() > p.Strictness() {
		return than
	}
	return p
}
