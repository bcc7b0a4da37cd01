// Package repo finds the repository around a directory and reads what it says
// about itself, carefully: a repository is somebody else's, so its files may
// be pipes, devices, links or far too large.
//
//	dir ─► parents ─► the first one with a .git ─► Path: root … dir
//	Path ─► Trust ─► Project: the directories that may speak to settle
//
// Resolve says where a path leads, for the tools and for the policy alike.
package repo
