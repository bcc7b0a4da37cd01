package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

// dial sends a command to the daemon at an address, and becomes the stream to the command.
func dial() {
	conn, err := net.Dial("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(conn, os.Args[2])
	go func() { // ends with the process
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
}
