// Command settle-fleet-temporal is Temporal's development server: the real server in
// one process, with SQLite, on the loopback interface. settle-fleet dev and the tests
// of the engine start it. It is a module of its own, because the server is large.
//
//	settle-fleet-temporal [--db FILE] [--port N] [--ui-port N] [--namespace NAME]
//
// It prints HOST:PORT when it is ready, and in a second line the URL of the web UI, if
// --ui-port asks for one. It ends at SIGINT, at SIGTERM, or when its standard input ends,
// so that it does not outlive the process that started it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "settle-fleet-temporal:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("settle-fleet-temporal", flag.ExitOnError)
	var o options
	flags.StringVar(&o.file, "db", "", "keep the state in `FILE`; default: in memory")
	flags.IntVar(&o.port, "port", 0, "listen on port `N` of 127.0.0.1; default: a free one")
	flags.IntVar(&o.uiPort, "ui-port", noUI, "serve the web UI on port `N` of 127.0.0.1; 0: a free one; default: none")
	flags.StringVar(&o.namespace, "namespace", "default", "make the namespace `NAME`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	server, address, err := start(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// It ends with the input, or with the process.
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	fmt.Fprintln(stdout, address)
	if o.uiPort != noUI {
		stop, url, err := startUI(address, o.namespace, o.uiPort)
		if err != nil {
			return errors.Join(err, server.Stop())
		}
		defer stop()
		fmt.Fprintln(stdout, url)
	}
	<-ctx.Done()
	return server.Stop()
}
