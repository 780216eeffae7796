package registry

type index struct {
	byAddress map[string]*Record
}
