// Command release makes everything that people install, into one folder, from one
// commit, with Go alone: it runs no other program but go and git.
//
//	commit ─► binaries ─┬► archives (tar.gz, zip), with manual, completions, licences
//	                    ├► deb, rpm
//	                    ├► npm packages: settle, and one for each platform
//	                    ├► an OCI image for two platforms
//	                    └► SBOM (CycloneDX)
//	               all ─► checksums.txt ─► install.sh, settle.rb, provenance.json
//
// The same commit gives the same bytes, wherever it is built: files have the commit's
// time and no owner, and are written in order. It publishes nothing.
package main
