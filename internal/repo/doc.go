// Package repo finds the repository around a directory and reads what it says
// about itself, with care: it is somebody else's.
//
//	dir ─► parents ─► the first one with a .git ─► Path: root … dir
//	Path ─► Trust ─► Project: the directories that may speak to settle
package repo
