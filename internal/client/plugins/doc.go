// Package plugins fetches plugins, and shows everything that a plugin may run before the
// user trusts it.
//
//	ParseSource ─► Source.Open ─► Snapshot ─► Choose (a list of plugins) ─► Stage
//	                                                                          │
//	       config/plugin.Store.Record ◄── the user's yes ◄── Inventory, Difference
//
// Read source.go first. git.go fetches a commit without a checkout: no hook, filter,
// submodule or link of the repository has an effect. list.go reads a list of plugins
// (marketplace.json); inventory.go lists the parts of a plugin; proposed.go reads what a
// project proposes, which is only shown.
package plugins
