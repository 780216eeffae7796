package config

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Install is how skills are brought in: install.
type Install struct {
	PrivateHosts []string // install.private_hosts: hosts, or host:port, that may lie in a private network
	DefaultHost  string   // install.default_host: where OWNER/REPO is looked for; "" = github.com
	CAFile       string   // install.ca_file: certificates that are believed instead of the system's; "" = those
	Origins      []string // install.allow_origins: hosts that an index of skills may name beside its own
	// OfficialPlugins is install.official_plugins: the address of a list of plugins with
	// digests, the marketplace official; "" = there is none.
	OfficialPlugins string
	Licences        []string // install.licences: identifiers that pass although they would not
	Published       bool     // install.published: published versions are skills like any other
}

// Signing is whose signatures count: trust.
type Signing struct {
	Keys    []string // trust.keys: public keys in minisign's form
	Require bool     // trust.require_signature: nothing without a good signature is fetched
}

func (s Signing) settings() []Setting {
	return []Setting{{Key: "trust.keys", Value: orEmpty(s.Keys)}, {Key: "trust.require_signature", Value: s.Require}}
}

var signingKey = regexp.MustCompile(`^[A-Za-z0-9+/]{56}$`)

// signingKeys are the keys below trust, of the person's own file alone.
func (l *loader) signingKeys(key string, _, v *yaml.Node) {
	l.mapping(v, key+".", func() table {
		return table{
			"keys":              l.list(&l.config.Signing.Keys, signingKey.MatchString, "the line of a minisign key that begins with RW"),
			"require_signature": l.boolean(&l.config.Signing.Require),
		}
	})
}

func (i Install) settings() []Setting {
	return []Setting{
		{Key: "install.private_hosts", Value: orEmpty(i.PrivateHosts)},
		{Key: "install.default_host", Value: i.DefaultHost},
		{Key: "install.ca_file", Value: i.CAFile},
		{Key: "install.allow_origins", Value: orEmpty(i.Origins)},
		{Key: "install.official_plugins", Value: i.OfficialPlugins},
		{Key: "install.licences", Value: orEmpty(i.Licences)},
		{Key: "install.published", Value: i.Published},
	}
}

var licenceID = regexp.MustCompile(`^[A-Za-z0-9.+-]+$`)

// installKeys are the keys below install, of the person's own file alone: a project must
// not say whom its own skills are fetched from.
func (l *loader) installKeys(key string, _, v *yaml.Node) {
	l.mapping(v, key+".", func() table {
		return table{
			"allow_origins":    l.list(&l.config.Install.Origins, hostName.MatchString, "a host, or host:port"),
			"private_hosts":    l.list(&l.config.Install.PrivateHosts, hostName.MatchString, "a host, or host:port"),
			"default_host":     l.text(&l.config.Install.DefaultHost, hostName.MatchString, "a host"),
			"ca_file":          l.text(&l.config.Install.CAFile, func(string) bool { return true }, "a file"),
			"official_plugins": l.text(&l.config.Install.OfficialPlugins, func(s string) bool { return strings.HasPrefix(s, "https://") }, "an https address"),
			"licences":         l.list(&l.config.Install.Licences, licenceID.MatchString, "an identifier of a licence"),
			"published":        l.boolean(&l.config.Install.Published),
		}
	})
}
