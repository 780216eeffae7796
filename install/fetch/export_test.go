package fetch

import "encoding/json"

// ResolveVersion is the version of a package that has one.
func ResolveVersion(want, have string) (string, error) {
	return packument{Versions: map[string]json.RawMessage{have: nil}}.resolve("p", want)
}
