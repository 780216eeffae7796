package config

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

// Install is how skills are brought in: install.
type Install struct {
	PrivateHosts []string // install.private_hosts: hosts, or host:port, that may lie in a private network
	DefaultHost  string   // install.default_host: where OWNER/REPO is looked for; "" = github.com
	CAFile       string   // install.ca_file: certificates that are believed instead of the system's; "" = those
	Licences     []string // install.licences: identifiers that pass although they would not
}

func (i Install) settings() []Setting {
	return []Setting{
		{Key: "install.private_hosts", Value: orEmpty(i.PrivateHosts)},
		{Key: "install.default_host", Value: i.DefaultHost},
		{Key: "install.ca_file", Value: i.CAFile},
		{Key: "install.licences", Value: orEmpty(i.Licences)},
	}
}

var licenceID = regexp.MustCompile(`^[A-Za-z0-9.+-]+$`)

// installKeys are the keys below install, of the person's own file alone: a project must
// not say whom its own skills are fetched from.
func (l *loader) installKeys(key string, _, v *yaml.Node) {
	l.mapping(v, key+".", func() table {
		return table{
			"private_hosts": l.list(&l.config.Install.PrivateHosts, hostName.MatchString, "a host, or host:port"),
			"default_host":  l.text(&l.config.Install.DefaultHost, hostName.MatchString, "a host"),
			"ca_file":       l.text(&l.config.Install.CAFile, func(string) bool { return true }, "a file"),
			"licences":      l.list(&l.config.Install.Licences, licenceID.MatchString, "an identifier of a licence"),
		}
	})
}
