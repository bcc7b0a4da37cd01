package main

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	schema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

// options say how to start a server.
type options struct {
	file      string // "" keeps the state in memory
	port      int    // 0 is a free one
	uiPort    int    // 0 is a free one, noUI none
	namespace string
}

const (
	host        = "127.0.0.1"
	joinTimeout = 30 * time.Second
	clusterName = "active"
	timerShift  = 50 * time.Millisecond
)

// start starts a server and returns its address. The configuration follows the
// server's own go.temporal.io/server/temporaltest, which does not export it.
func start(o options) (temporal.Server, string, error) {
	ports, err := freePorts(8)
	if err != nil {
		return nil, "", err
	}
	if o.port != 0 {
		ports[0] = o.port
	}
	store := sqlConfig(o.file)
	if o.file != "" {
		if _, err := os.Stat(o.file); errors.Is(err, os.ErrNotExist) {
			if err := schema.SetupSchema(store); err != nil {
				return nil, "", err
			}
		}
	}
	namespace, err := schema.NewNamespaceConfig(clusterName, o.namespace, false, nil)
	if err != nil {
		return nil, "", err
	}
	if err := schema.CreateNamespaces(store, namespace); err != nil {
		return nil, "", err
	}
	if err := tidy(o.file); err != nil {
		return nil, "", err
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(serverConfig(store, ports)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithLogger(log.NewNoopLogger()),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			// One database behind one process gains nothing by partitions.
			dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
			dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
			// Tenants share the workers by fairness keys, which the server ignores by default.
			dynamicconfig.MatchingEnableFairness.Key(): true,
			// Timers may be late by a second otherwise, to spare a database elsewhere.
			dynamicconfig.TimerProcessorMaxTimeShift.Key(): timerShift,
		}),
	)
	if err != nil {
		return nil, "", err
	}
	return server, net.JoinHostPort(host, fmt.Sprint(ports[0])), server.Start()
}

// tidy prepares the database of a single process. It removes the members of a process that
// was killed, for which the services would wait for most of a minute, and the indexes for lists
// of executions, of which there are more than fifty: to keep them takes half of the server's
// time, and lists are short here.
func tidy(file string) (err error) {
	name := "file:" + database + "?mode=memory&cache=shared"
	if file != "" {
		name = "file:" + file
	}
	db, err := sql.Open("sqlite", name) // the driver that the plugin uses
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Exec("DELETE FROM cluster_membership"); err != nil {
		return err
	}
	rows, err := db.Query(
		`SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'executions_visibility' AND sql IS NOT NULL`,
	)
	if err != nil {
		return err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := db.Exec("DROP INDEX " + name); err != nil {
			return err
		}
	}
	return nil
}

// database is the name of the one in memory.
const database = "settle"

func sqlConfig(file string) *config.SQL {
	if file == "" {
		return &config.SQL{
			PluginName:        sqlite.PluginName,
			DatabaseName:      database,
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
		}
	}
	return &config.SQL{PluginName: sqlite.PluginName, DatabaseName: file, ConnectAttributes: map[string]string{
		"mode": "rwc", "_journal_mode": "wal", "_synchronous": "normal",
	}}
}

// serverConfig returns the configuration of one process with all services; the first port
// is for clients.
func serverConfig(store *config.SQL, ports []int) *config.Config {
	c := &config.Config{}
	c.Global.Membership = config.Membership{MaxJoinDuration: joinTimeout, BroadcastAddress: host}
	c.Persistence = config.Persistence{
		DefaultStore: sqlite.PluginName, VisibilityStore: sqlite.PluginName, NumHistoryShards: 1,
		DataStores: map[string]config.DataStore{sqlite.PluginName: {SQL: store}},
	}
	address := net.JoinHostPort(host, fmt.Sprint(ports[0]))
	c.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{
			clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address},
		},
	}
	c.DCRedirectionPolicy.Policy = "noop"
	c.Services = map[string]config.Service{}
	for n, name := range temporal.DefaultServices {
		c.Services[name] = config.Service{
			RPC: config.RPC{GRPCPort: ports[2*n], MembershipPort: ports[2*n+1], BindOnLocalHost: true},
		}
		if name == "frontend" {
			c.Services[name] = config.Service{
				RPC: config.RPC{GRPCPort: ports[0], MembershipPort: ports[2*n+1], BindOnLocalHost: true},
			}
		}
	}
	c.Archival.History.State, c.Archival.Visibility.State = "disabled", "disabled"
	c.NamespaceDefaults.Archival.History.State, c.NamespaceDefaults.Archival.Visibility.State = "disabled", "disabled"
	c.PublicClient.HostPort = address
	return c
}

// freePorts returns ports that are free at present.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
