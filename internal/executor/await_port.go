package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Port is the [Request] that returns when a process on the machine accepts TCP connections at a
// port; its Args are the number.
const Port = "port"

// portDelay is the pause between two attempts to connect.
const portDelay = 100 * time.Millisecond

func awaitPort(ctx context.Context, args json.RawMessage) error {
	var port int
	if err := json.Unmarshal(args, &port); err != nil {
		return fmt.Errorf("cannot read the port: %w", err)
	}
	dialer := net.Dialer{Timeout: time.Second}
	tick := time.NewTicker(portDelay)
	defer tick.Stop()
	for {
		for _, host := range []string{"127.0.0.1", "::1"} {
			conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
			if err == nil {
				return conn.Close()
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
