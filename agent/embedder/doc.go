// Package embedder has only a test: it builds a program in a module of its own, which can import
// only public packages, and runs it. The test is in a package of its own, since it needs a build
// cache.
package embedder
