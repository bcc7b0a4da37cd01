package main

import (
	"fmt"
	"net"
	"strconv"

	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// noUI is the port of a server without the web UI.
const noUI = -1

// startUI serves Temporal's web UI of the server at the address, on the loopback
// interface, and returns its URL. It reports nothing to and fetches nothing from others.
func startUI(address, namespace string, port int) (stop func(), url string, err error) {
	if port == 0 {
		ports, err := freePorts(1)
		if err != nil {
			return nil, "", err
		}
		port = ports[0]
	}
	at := net.JoinHostPort(host, strconv.Itoa(port))
	if l, err := net.Listen("tcp", at); err != nil { // the UI's server would end the process without a word
		return nil, "", fmt.Errorf("cannot serve the web UI at %s: %w", at, err)
	} else if err := l.Close(); err != nil {
		return nil, "", err
	}
	ui := server.NewServer(server_options.WithConfigProvider(&config.Config{
		TemporalGRPCAddress: address,
		Host:                host,
		Port:                port,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		DisableNewsFetch:    true,
		Distribution:        "settle-fleet",
		HideLogs:            true,
		// The cookie against forged requests is sent over http, on this machine only.
		CORS: config.CORS{CookieInsecure: true},
	}))
	ended := make(chan struct{})
	go func() { // ends with ui.Stop, and stop waits for it
		defer close(ended)
		_ = ui.Start() // an error ends the process
	}()
	return func() { ui.Stop(); <-ended }, "http://" + at, nil
}
