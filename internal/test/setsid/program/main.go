// Program makes the command of package setsid a program of its own, for places where a test binary
// does not run, such as a container without its libraries.
package main

import "github.com/settle-agent/settle/internal/test/setsid"

func main() { setsid.Command() }
