package pglog

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgpassfile"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// maxConns bounds the connections of a program's pool: pgx would take one for each processor, so that the sum
	// over all workers depends on their machines. A worker has five more: [committers] for text that may be lost, and
	// three that listen.
	maxConns = 8
	// maxConnsParameter is pgx's parameter of a URL for another bound.
	maxConnsParameter = "pool_max_conns"
)

// ParseConfig reads what leads to a database. The password of a URL that names a passfile is
// the one in that file, also if $PGPASSWORD has the password of another server.
func ParseConfig(text string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(text, maxConnsParameter) {
		config.MaxConns = maxConns
	}
	u, err := url.Parse(text)
	if err != nil || u.Query().Get("passfile") == "" {
		return config, nil // it is no URL, which pgx has read
	}
	if _, hasPassword := u.User.Password(); hasPassword {
		return config, nil
	}
	file, err := pgpassfile.ReadPassfile(u.Query().Get("passfile"))
	if err != nil {
		return nil, err
	}
	c := config.ConnConfig
	host := c.Host
	if len(host) > 0 && host[0] == '/' { // a socket, as pgx has it
		host = "localhost"
	}
	c.Password = file.FindPassword(host, strconv.Itoa(int(c.Port)), c.Database, c.User)
	return config, nil
}
