// Package prometheus tests the response of settle serve at /metrics with Prometheus' own parser and
// linter, and the dashboard and alerts in integrations/ with the served metrics. It is a module of
// its own, so that their dependencies are not settle's.
package prometheus
