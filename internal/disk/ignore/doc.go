// Package ignore decides which files a .gitignore excludes, as git does: [Above] reads the rules
// of the directories above a directory, [Rules.Enter] adds the rules of a directory on the way
// down, and [Rules.Ignored] decides about one entry. It opens files without following links.
//
// ignore.go has the rules and their order, wildmatch.go matches one pattern.
package ignore
