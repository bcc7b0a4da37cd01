// Package otel tests settle's exports against OpenTelemetry's own receiver, which its collector
// uses (https://pkg.go.dev/go.opentelemetry.io/collector/receiver/otlpreceiver). It is a module of
// its own, since it has many dependencies.
package otel
