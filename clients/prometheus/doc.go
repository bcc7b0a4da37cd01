// Package prometheus holds what settle serve answers at /metrics against Prometheus' own
// parser and linter, and the dashboard and alerts in integrations/ against what is
// served. It is a module of its own, so that their dependencies are not
// settle's.
package prometheus
