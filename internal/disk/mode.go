package disk

import (
	"fmt"
	"io/fs"
	"strconv"
)

// FormatMode returns the permissions of a mode as they are stored, such as "0644".
func FormatMode(mode fs.FileMode) string { return fmt.Sprintf("%04o", mode.Perm()) }

// ParseMode returns the permissions that FormatMode wrote; 0 if they are unknown.
func ParseMode(text string) fs.FileMode {
	n, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		return 0
	}
	return fs.FileMode(n) & fs.ModePerm
}
