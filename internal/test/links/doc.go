// Package links attacks the tools that work on files: while calls are judged and run,
// other goroutines swap names, folders and their parents for links, hard links, pipes
// and mounts that lead to a secret outside of the working directory. No call may show
// the secret or its name, and nothing outside may change.
//
// Begin with links_linux_test.go.
package links
