package sandbox

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// macOS are the paths that programs need on a Mac, in addition to system. It excludes most of
// /System, which contains the volume with all users' files.
var macOS = []string{
	"/System/Applications",
	"/System/Cryptexes",
	"/System/DriverKit",
	"/System/Library",
	"/System/iOSSupport",
	"/System/Volumes/Preboot/Cryptexes",
	"/private/preboot/Cryptexes",
	"/private/var/db/dyld",
	"/private/var/db/timezone",
	"/private/var/db/xcode_select_link",
	"/private/var/select",
	"/Library/Apple",
	"/Library/Developer",
	"/Library/Frameworks",
	"/Library/Java",
	"/Applications/Xcode.app",
	"/dev/autofs_nowait",
	"/dev/dtracehelper",
	"/dev/fd",
	"/dev/stderr",
	"/dev/stdin",
	"/dev/stdout",
	"/etc/bashrc",
	"/etc/manpaths",
	"/etc/paths",
	"/etc/paths.d",
	"/etc/ssl/cert.pem",
	"/etc/zprofile",
	"/etc/zshenv",
	"/etc/zshrc",
}

// everyMac are the rights of every command on a Mac. The services answer queries: none opens
// programs (launchservicesd, Apple events), or has keys (securityd) or the clipboard. The sysctl
// values exclude the values of other processes, which contain their environments.
const everyMac = `(version 1)
(deny default)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow mach-host*)
(allow ipc-posix-sem)
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))
(allow pseudo-tty)
(allow file-read-metadata)
(if (defined? 'file-test-existence) (allow file-test-existence))
(allow file-read* (literal "/") (literal "/dev") (literal "/etc") (literal "/tmp") (literal "/var"))
(allow file-read* file-write-data file-ioctl
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper")
  (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$") (subpath "/dev/fd"))
(allow sysctl-read
  (sysctl-name-prefix "hw.") (sysctl-name-prefix "machdep.cpu.") (sysctl-name-prefix "kern.os")
  (sysctl-name "kern.argmax") (sysctl-name "kern.hostname") (sysctl-name "kern.maxfilesperproc") (sysctl-name "kern.maxproc")
  (sysctl-name "kern.ngroups") (sysctl-name "kern.secure_kernel") (sysctl-name "kern.usrstack64") (sysctl-name "kern.version")
  (sysctl-name "sysctl.proc_cputype") (sysctl-name "vm.loadavg"))
(allow mach-lookup
  (global-name "com.apple.bsd.dirhelper") (global-name "com.apple.logd") (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center") (global-name "com.apple.system.DirectoryService.libinfo_v1")
  (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.opendirectoryd.membership"))
`

// onlineMac is the network. It allows one socket with a path, for name resolution: the programs
// behind other sockets could act for a command.
const onlineMac = `(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow network-bind (local ip))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow sysctl-read (sysctl-name-prefix "net.routetable."))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd") (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.dnssd.service") (global-name "com.apple.trustd") (global-name "com.apple.trustd.agent"))
`

// Seatbelt converts the policy to the language of macOS's sandbox-exec. The last rule about a
// path counts. The paths have no links except the standard ones (/tmp, /var, /etc): the system
// checks resolved paths.
//
// A Mac needs no View: files outside of Write cannot be changed, including their modes, and
// Protect is subtracted. It needs no OwnNetwork, because it restricts addresses.
func Seatbelt(p Policy) string {
	var b strings.Builder
	b.WriteString(everyMac)
	rule(&b, "allow file-read* file-map-executable process-exec*", "subpath", places(p.Read, macOS, p.Write))
	write := places(p.Write)
	rule(&b, "allow file-write*", "subpath", write)
	protect := places(p.Protect)
	rule(&b, "deny file-write*", "subpath", protect)
	hidden := make([]string, len(p.Hide))
	for i, h := range p.Hide {
		hidden[i] = h.Path
	}
	hidden = places(hidden)
	rule(&b, "deny file-read-data file-map-executable process-exec* file-write*", "subpath", hidden)
	rule(
		&b, "deny file-write-unlink", "literal", above(slices.Concat(protect, hidden), write),
	) // the files of a renamed folder would escape their rules
	switch {
	case p.Network == Online:
		b.WriteString(onlineMac)
	case p.Network == Proxied && p.Port != 0:
		b.WriteString(`(allow network-outbound (remote ip "localhost:` + strconv.Itoa(int(p.Port)) + `"))` + "\n")
	}
	return b.String()
}

// rule writes nothing without paths: a rule without paths is about all files.
func rule(b *strings.Builder, verdict, filter string, paths []string) {
	if len(paths) == 0 {
		return
	}
	b.WriteString("(" + verdict)
	for _, p := range paths {
		b.WriteString("\n  (" + filter + " " + quote(p) + ")")
	}
	b.WriteString(")\n")
}

// quote quotes a string for the profile.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// places returns the resolved paths, each once. It ignores relative and invalid paths.
func places(lists ...[]string) (all []string) {
	for _, list := range lists {
		for _, p := range list {
			if !strings.HasPrefix(p, "/") || strings.ContainsRune(p, 0) {
				continue
			}
			p = path.Clean(p)
			if first, _, _ := strings.Cut(p[1:], "/"); first == "tmp" || first == "var" || first == "etc" {
				p = "/private" + p
			}
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// above returns the folders between the writable folders, inclusive, and the protected paths in
// them.
func above(protect, write []string) (all []string) {
	for _, p := range protect {
		for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
			if slices.ContainsFunc(
				write, func(root string) bool { return root == dir || root == "/" || strings.HasPrefix(dir, root+"/") },
			) {
				all = append(all, dir)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
