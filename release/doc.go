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
//
// Files:
//
//   - debian.go: Debian packages of the image with tools: which, and how they are verified
//   - packages.go: the .deb and .rpm of settle
//   - image.go: layers of the OCI images
//   - tar.go: the files of a layer
//   - archive.go: archives of programs, tar.gz and zip
//   - build.go: programs and platforms
//   - collect.go: files and licences beside a program
//   - checksums.go: install.sh, settle.rb, provenance.json
//   - signature.go: keys; signs and checks checksums.txt
//   - sbom.go: the lists of modules (CycloneDX)
//   - manual.go: manual pages from help
//   - npm.go: packages for npm; npm.js: the command that npm installs, which starts the binary
//   - main.go: flags, version and order of the steps
package main
