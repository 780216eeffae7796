package skill

// LossAction says what an export did with a key.
type LossAction string

// The actions of an export, from harmless to final.
const (
	LossKept    LossAction = "kept"
	LossRenamed LossAction = "renamed"
	LossMoved   LossAction = "moved"
	LossEmptied LossAction = "emptied"
	LossDropped LossAction = "dropped"
)

// Loss is one key that a host does not read as deft does. Effect says in words what
// is lost for a user, e.g. "manual-only is not enforced by this host"; it is "" for
// keys that are kept in another place without loss.
type Loss struct {
	Key    string     `json:"key"`
	Line   int        `json:"line"`
	Action LossAction `json:"action"`
	Effect string     `json:"effect"`
}

// Export writes the skill s, whose file is src, as the host of profile p reads it:
// the new SKILL.md and the files beside it by their path. The body is kept byte for
// byte. loss says for each key what became of it. The error is for a skill that
// cannot be read.
func Export(s *Skill, src []byte, p Profile) (out []byte, files map[string][]byte, loss []Loss, err error) {
	return src, nil, nil, nil
}
