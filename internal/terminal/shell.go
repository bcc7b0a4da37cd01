package terminal

import "strings"

// plainShell are the characters of a word that needs no quotes in a shell.
const plainShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

// ShellWord quotes a word for a shell, if it needs quotes.
func ShellWord(word string) string {
	if word != "" && strings.Trim(word, plainShell) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
