package config

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

// Web is what the tool for pages of the web may do: web.
type Web struct {
	PrivateHosts []string // web.private_hosts: hosts, or host:port, that may lie in a private network
}

// hostName is a name, an address, or either with a port.
var hostName = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?|\[?[0-9A-Fa-f:.]+\]?(?::[0-9]{1,5})?)$`)

// webKeys are the keys below web, of the person's own file alone.
func (l *loader) webKeys(key string, _, v *yaml.Node) {
	l.mapping(v, key+".", func() table {
		return table{"private_hosts": l.list(&l.config.Web.PrivateHosts, hostName.MatchString, "a host, or host:port")}
	})
}
