package web

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// maxURL bounds an address in bytes.
const maxURL = 8 << 10

// Address parses an address that can be fetched.
func Address(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxURL {
		return nil, fmt.Errorf("the url has more than %d bytes", maxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the url is not one")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the url has the scheme %q; only http and https can be fetched", u.Scheme)
	case u.User != nil:
		return nil, errors.New("the url has a user name or a password, which are not sent")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("the url has no host")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// Host returns the host that a call with the arguments reads from, with its port unless it
// is the default one; "" for none. The policy judges calls by it.
func Host(address string) string {
	u, err := Address(address)
	if err != nil {
		return ""
	}
	return hostOf(u)
}

// hostOf returns the host of an address in canonical form.
func hostOf(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return host + ":" + port
	}
	return host
}
