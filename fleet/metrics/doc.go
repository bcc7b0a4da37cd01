// Package metrics counts what a worker does, for Prometheus.
//
// The metrics of the queue and the worker begin with settle_fleet. All other metrics are those of
// settle serve, with the same names and labels.
package metrics
