package disk

import (
	"path/filepath"
	"unicode/utf8"
)

// maxName is the maximum length of a file's name in bytes, on common file systems.
const maxName = 255

// Shorten cuts the end off the last name of a path, so that a suffix fits behind it.
func Shorten(path, suffix string) string {
	dir, name := filepath.Split(path)
	if end := maxName - len(suffix); len(name) > end {
		for range utf8.UTFMax - 1 { // no half character, also if the name is not UTF-8
			if utf8.RuneStart(name[end]) {
				break
			}
			end--
		}
		name = name[:end]
	}
	return dir + name
}
