// Program is what package setsid makes of a test binary, for places where a test
// binary does not run, such as a container without its libraries.
package main

import "github.com/settle-agent/settle/internal/test/setsid"

func main() { setsid.Command() }
