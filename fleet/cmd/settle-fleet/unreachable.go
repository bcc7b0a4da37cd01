package main

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/fleet/pglog"
)

// databaseUnreachable reports which address was tried, why there is no connection, and what
// to start. The address has no password.
func databaseUnreachable(url string, dev bool, err error) error {
	advice := "is Postgres running there, and is the address right? --database or $" + databaseVar +
		" names it; settle-fleet dev starts a database on this machine"
	if dev {
		advice = "it is the database of settle-fleet dev: start settle-fleet dev, and leave it running"
	}
	reason := strings.Join(strings.Fields(err.Error()), " ") // one line, also for several addresses
	return failed(fmt.Errorf("cannot reach the database at %s: %s; %s", databaseAddress(url), reason, advice))
}

// databaseAddress returns where a URL leads to, for people.
func databaseAddress(url string) string {
	c, err := pglog.ParseConfig(url)
	if err != nil {
		return "an address that is not one"
	}
	conn := c.ConnConfig
	address := conn.Host // the folder of a socket
	if len(address) == 0 || address[0] != '/' {
		address = net.JoinHostPort(conn.Host, strconv.Itoa(int(conn.Port)))
	}
	return fmt.Sprintf("%s (database %q)", address, cmp.Or(conn.Database, conn.User))
}

// temporalUnreachable is databaseUnreachable for Temporal.
func temporalUnreachable(address string, dev bool, err error) error {
	advice := "is Temporal's server running there? --temporal or $TEMPORAL_ADDRESS names it; " +
		"settle-fleet dev starts one on this machine"
	if dev {
		advice = "settle-fleet dev starts one: start it, and leave it running, or name a server with --temporal"
	}
	return failed(fmt.Errorf("cannot reach Temporal at %q: %w; %s", address, err, advice))
}
