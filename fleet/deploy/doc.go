// Package deploy has the files with which a fleet runs somewhere: manifests for
// Kubernetes and a file for Docker Compose. Its tests hold them against Kubernetes' own
// types and Compose's own loader, and run their commands as they are written. It is a
// module of its own, so that neither the fleet nor settle depends on these.
package deploy
