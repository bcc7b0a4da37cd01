// Command release makes everything that people install, into one folder, from one
// commit, with Go alone: it runs no other program but go and git, and ssh-keygen to sign.
//
//	commit ─► binaries ─┬► archives (tar.gz, zip), with manual, completions, licences
//	                    ├► deb, rpm
//	                    ├► npm packages: settle, and one for each platform
//	                    ├► an OCI image for two platforms
//	                    └► SBOM (CycloneDX)
//	               all ─► install.sh, settle.rb, latest.json, provenance.json
//	                      all of it ─► checksums.txt ─► checksums.txt.sig
//
// The same commit gives the same bytes, wherever it is built: files have the commit's
// time and no owner, and are written in order. Only the signature needs more than the
// commit. It publishes nothing.
package main
