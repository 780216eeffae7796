package skill

import (
	"strings"
	"unicode"

	"github.com/deftskills/deft/internal/fold"
)

// keyID numbers the keys that deft reads at the top of a header or of a block.
type keyID uint8

const (
	keyName keyID = iota
	keyTitle
	keyDisplayName
	keyDisplayNames
	keyDescription
	keyDescriptions
	keyWhenToUse
	keyLicense
	keyCompatibility
	keyMetadata
	keyVersion
	keyAllowedTools
	keyDisallowedTools
	keyDisableModelInvocation
	keyUserInvocable
	keyListed
	keyDefaultEnabled
	keyRequiresBeta
	keyRetired
	keyArgumentHint
	keyArguments
	keyScope
	keyModel
	keyEffort
	keyContext
	keyAgent
	keyBackground
	keyPaths
	keyShell
	keyHooks
	keyOnce
	keyOnError
	keyPlatforms
	keyConditions
	keyModeSlugs
	keyRequiredVariables
	keyPrerequisites
	keyID_
	keyPriority
	keyToolNames
	keyRequiresEnv
	keyRouting
	keyCoActivate
	keyKind
	keyOneShot
	keyDependencies
	keyCount
)

// places says where a key is read.
type places uint8

const (
	atTop    places = 1 << iota // the header itself
	inMinara                    // metadata.minara
	inDeft                      // metadata.deft and SKILL.config.json
)

type keySpec struct {
	printed string // the form that the documentation prints, and the name of the field
	places  places
}

// keyTable holds every key that deft reads. All of them may also stand below
// metadata.deft: an exported skill keeps there what the host does not know.
var keyTable = [keyCount]keySpec{
	keyName:                   {"name", atTop | inDeft},
	keyTitle:                  {"title", atTop | inDeft},
	keyDisplayName:            {"display-name", atTop | inDeft},
	keyDisplayNames:           {"displayNames", atTop | inDeft},
	keyDescription:            {"description", atTop | inDeft},
	keyDescriptions:           {"descriptions", atTop | inDeft},
	keyWhenToUse:              {"when_to_use", atTop | inDeft},
	keyLicense:                {"license", atTop | inDeft},
	keyCompatibility:          {"compatibility", atTop | inDeft},
	keyMetadata:               {"metadata", atTop},
	keyVersion:                {"version", atTop | inDeft},
	keyAllowedTools:           {"allowed-tools", atTop | inDeft},
	keyDisallowedTools:        {"disallowed-tools", atTop | inDeft},
	keyDisableModelInvocation: {"disable-model-invocation", atTop | inDeft},
	keyUserInvocable:          {"user-invocable", atTop | inDeft},
	keyListed:                 {"listed", atTop | inDeft},
	keyDefaultEnabled:         {"default-enabled", atTop | inDeft},
	keyRequiresBeta:           {"requires_beta", atTop | inDeft},
	keyRetired:                {"retired", atTop | inDeft},
	keyArgumentHint:           {"argument-hint", atTop | inDeft},
	keyArguments:              {"arguments", atTop | inDeft},
	keyScope:                  {"scope", atTop | inDeft},
	keyModel:                  {"model", atTop | inDeft},
	keyEffort:                 {"effort", atTop | inDeft},
	keyContext:                {"context", atTop | inDeft},
	keyAgent:                  {"agent", atTop | inDeft},
	keyBackground:             {"background", atTop | inDeft},
	keyPaths:                  {"paths", atTop | inDeft},
	keyShell:                  {"shell", atTop | inDeft},
	keyHooks:                  {"hooks", atTop | inDeft},
	keyOnce:                   {"once", atTop | inDeft},
	keyOnError:                {"on_error", atTop | inDeft},
	keyPlatforms:              {"platforms", atTop | inDeft},
	keyConditions:             {"conditions", atTop | inMinara | inDeft},
	keyModeSlugs:              {"modeSlugs", atTop | inDeft},
	keyRequiredVariables:      {"required_environment_variables", atTop | inDeft},
	keyPrerequisites:          {"prerequisites", atTop | inDeft},
	keyID_:                    {"id", inMinara | inDeft},
	keyPriority:               {"priority", inMinara | inDeft},
	keyToolNames:              {"tool_names", inMinara | inDeft},
	keyRequiresEnv:            {"requires_env", inMinara | inDeft},
	keyRouting:                {"routing", inMinara | inDeft},
	keyCoActivate:             {"co_activate", inMinara | inDeft},
	keyKind:                   {"kind", inMinara | inDeft},
	keyOneShot:                {"one-shot", inDeft},
	keyDependencies:           {"dependencies", inDeft},
}

// foreignKeys are top-level keys of other hosts that are near enough to one of ours
// to look like a typing error, and are none.
var foreignKeys = []string{"tools", "mode", "type", "tags", "model_name", "content", "content_type", "texts", "toolset", "agentic", "modes"}

type keyForm struct {
	id   keyID
	rank uint8 // printed form, kebab, snake, camel: the lower one wins
}

// keyForms maps each accepted spelling to its key.
var keyForms = buildKeyForms()

func buildKeyForms() map[string]keyForm {
	m := make(map[string]keyForm, 3*keyCount)
	for id, spec := range keyTable {
		for rank, form := range spellings(spec.printed) {
			if _, ok := m[form]; !ok {
				m[form] = keyForm{keyID(id), uint8(rank)}
			}
		}
	}
	return m
}

// KeyName returns the documented form of a header key that is spelt in kebab, snake
// or camel case; ok is false for a key that deft does not read.
func KeyName(spelt string) (printed string, ok bool) {
	form, ok := keyForms[spelt]
	if !ok {
		return "", false
	}
	return keyTable[form.id].printed, true
}

// spellings returns the accepted forms of a key: as printed, kebab, snake, camel.
func spellings(printed string) []string {
	kebab := kebabCase(printed)
	words := strings.Split(kebab, "-")
	camel := words[0]
	for _, w := range words[1:] {
		if w != "" {
			camel += strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return []string{printed, kebab, strings.ReplaceAll(kebab, "-", "_"), camel}
}

// kebabCase turns snake and camel case into kebab case.
func kebabCase(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '_':
			b.WriteByte('-')
		case unicode.IsUpper(r):
			if i > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// typoOf returns the documented key that an unknown key at a place is a typing error
// of: within two edits of one with five letters or more.
func typoOf(key string, at places) (string, bool) {
	for _, f := range foreignKeys {
		if key == f {
			return "", false
		}
	}
	kebab := kebabCase(key)
	best, limit := "", 2
	for _, spec := range keyTable {
		if spec.places&at == 0 || len(spec.printed) < 5 {
			continue
		}
		if d := fold.Distance(kebab, kebabCase(spec.printed), limit); d <= limit {
			best, limit = spec.printed, d-1
		}
		if limit < 0 {
			break
		}
	}
	return best, best != ""
}

// member is a value of a mapping with its key.
type member struct{ key, value *Node }

// find returns the member of m that is spelt like printed in one of the accepted
// forms, the strongest form first, and the weaker ones.
func find(m *Node, printed string) (best member, losers []member) {
	if m == nil || m.Kind != MappingNode {
		return member{}, nil
	}
	rank := 4
	for i := range m.Len() {
		k, v := m.Pair(i)
		r := formRank(k.Value, printed)
		switch {
		case r < 0:
		case best.key == nil:
			best, rank = member{k, v}, r
		case r < rank:
			losers = append(losers, best)
			best, rank = member{k, v}, r
		default:
			losers = append(losers, member{k, v})
		}
	}
	return best, losers
}

// formRank returns 0 for the printed form of a key, 1 for kebab, 2 for snake, 3 for
// camel case, and -1 for another key.
func formRank(key, printed string) int {
	if key == printed {
		return 0
	}
	rank, j := 0, 0
	for i := 0; i < len(printed); i++ {
		c := printed[i]
		boundary := c == '-' || c == '_' || c >= 'A' && c <= 'Z'
		if c == '-' || c == '_' {
			i++
		}
		want := lower(printed[i])
		if j >= len(key) {
			return -1
		}
		if boundary {
			form := 3
			switch key[j] {
			case '-':
				form = 1
			case '_':
				form = 2
			default:
				want -= 'a' - 'A'
			}
			if rank != 0 && form != rank {
				return -1
			}
			if rank = form; form != 3 {
				j++
			}
		}
		if j >= len(key) || key[j] != want {
			return -1
		}
		j++
	}
	if j < len(key) || rank == 0 {
		return -1
	}
	return rank
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
