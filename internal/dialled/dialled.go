// Package dialled tells addresses of the open web from those of this machine and of its
// surroundings. It looks at what is dialled, after names were resolved and on each
// redirect: what a name says of itself proves nothing.
package dialled

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// inward are the networks that no page of the web lies in: those of this machine and of
// its surroundings, those that stand for an address inside another one, and those that are
// reserved. What is dialled is compared, not what a name says of itself.
var inward = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

// outward is where public addresses of IPv6 lie: all that is elsewhere is inward, such as
// ::1, fe80::/10, fc00::/7, ff00::/8, and 64:ff9b::/96, which leads to an IPv4 address.
var outward = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// Public reports whether an address is one of the open web. An IPv4 address that is
// written as IPv6 counts as what it is.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || a.Is6() && !outward.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(inward, func(p netip.Prefix) bool { return p.Contains(a) })
}

// ErrInward is an address that is not one of the open web.
var ErrInward = errors.New("the address is not one of the open web")

// Check refuses "ip:port" where it leads inward.
func Check(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInward, err)
	}
	if !Public(at.Addr()) {
		return ErrInward
	}
	return nil
}

// Listed reports whether a host, or that host at that port, is in a list.
func Listed(list []string, address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(list, func(l string) bool {
		return strings.EqualFold(l, address) || strings.EqualFold(strings.Trim(l, "[]"), host)
	})
}
