// Package embedder has only a test: it builds a program in a module of its own,
// which can import only what is public, and runs it. So it is a package of its
// own: whoever runs it needs a build cache.
package embedder
