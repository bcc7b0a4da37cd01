package egress

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"
)

// Dial reaches a target ("host:port") through the gate that a URL of [Gate.URL]
// leads to.
func Dial(ctx context.Context, gate, target string) (net.Conn, error) {
	at, err := url.Parse(gate)
	if err != nil || at.Host == "" || at.User == nil {
		return nil, errors.New("cannot find the sandbox's proxy: its address is malformed") // and not shown: it has the secret
	}
	t, err := parseTarget(target)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the sandbox's proxy: %w", err)
	}
	if err := ask(conn, at.User, t); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// Connect is what ssh has as its ProxyCommand: it reaches a target as Dial does,
// and carries what comes in there, until that side has said all.
func Connect(ctx context.Context, gate, target string, in io.Reader, out io.Writer) error {
	conn, err := Dial(ctx, gate, target)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() { // ends with the program, at the latest
		_, _ = io.Copy(conn, in)
		_ = closeWrite(conn)
	}()
	if _, err := io.Copy(out, conn); err != nil {
		return fmt.Errorf("the connection to %s broke: %w", target, err)
	}
	return nil
}

// ask has a gate connect to a target. It reads the answer's head, and no byte of
// what follows.
func ask(conn net.Conn, who *url.Userinfo, t Target) error {
	_ = conn.SetDeadline(time.Now().Add(helloTimeout + dialTimeout))
	password, _ := who.Password()
	code := base64.StdEncoding.EncodeToString([]byte(who.Username() + ":" + password))
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n", t, t, code); err != nil {
		return fmt.Errorf("cannot ask the sandbox's proxy: %w", err)
	}
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		if _, err := io.ReadFull(conn, one); err != nil {
			return fmt.Errorf("cannot ask the sandbox's proxy: %w", err)
		}
		if head = append(head, one[0]); len(head) > maxHeader {
			return errors.New("cannot ask the sandbox's proxy: its answer is too long")
		}
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	if fields := strings.Fields(line); len(fields) < 2 || fields[1] != "200" {
		why, _ := io.ReadAll(io.LimitReader(conn, 1<<10))
		return errors.New(strings.TrimSpace(strings.TrimSpace(line) + ": " + strings.TrimSpace(string(why))))
	}
	return conn.SetDeadline(time.Time{})
}
