package fetch

import (
	"net/url"

	"golang.org/x/net/http/httpproxy"
)

// ProxyOf reads the proxies that an environment names, in the form that most programs
// read: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case. This machine is never
// reached through one.
func ProxyOf(env func(name string) string) func(*url.URL) (*url.URL, error) {
	get := func(name, lower string) string {
		if v := env(name); v != "" {
			return v
		}
		return env(lower)
	}
	c := httpproxy.Config{
		HTTPProxy: get("HTTP_PROXY", "http_proxy"), HTTPSProxy: get("HTTPS_PROXY", "https_proxy"), NoProxy: get("NO_PROXY", "no_proxy"),
	}
	return c.ProxyFunc()
}
