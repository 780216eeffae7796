package config

import "slices"

// Level says whose word a value is.
type Level string

// The levels, weakest first. Environment and flags are laid over by the caller.
const (
	Default Level = "default"
	Managed Level = "managed" // the machine's config.yaml: rules for tools alone
	User    Level = "user"    // config.yaml in the config directory
	Project Level = "project" // .deft/config.yaml of a trusted folder
	Env     Level = "environment"
	Flag    Level = "flag"
)

// From says where a value was written.
type From struct {
	Level Level  `json:"level"`
	File  string `json:"file"` // "" for defaults; a variable's or flag's name for those
	Line  int    `json:"line"` // 1-based; 0 where there is none
}

// Trust is the answer that a person gave in advance to "trust this folder?".
type Trust string

// The answers.
const (
	TrustAsk    Trust = "ask"
	TrustAlways Trust = "always"
	TrustNever  Trust = "never"
)

// SourceItem is one entry of skills.sources.
type SourceItem struct {
	Path     string   `json:"path"`     // any path form; relative ones count from the file's own folder
	Kind     string   `json:"kind"`     // "" = project
	Priority *float64 `json:"priority"` // nil = the default of its kind
	Trust    string   `json:"trust"`    // "" = the default of its kind
	// Namespace stands before the names of its skills, as a plugin's does; "" = nothing.
	Namespace string `json:"namespace"`
	Shell     string `json:"shell"` // of its inline commands: allow, inherit or deny; "" = as its kind
	Hooks     string `json:"hooks"` // of its hooks, likewise
	Off       bool   `json:"off"`   // enabled: false
	From      From   `json:"from"`
	Base      string `json:"-"` // the folder that Path counts from
}

// Entry is one entry of a list of skills: a selector or a glob.
type Entry struct {
	Pattern string `json:"pattern"`
	From    From   `json:"from"`
}

// Lists are the switches of one file. Unset lists are nil; an empty allow_only allows
// nothing.
type Lists struct {
	Deny       []Entry `json:"deny"`
	DefaultOff []Entry `json:"default_off"`
	Enable     []Entry `json:"enable"`
	AllowOnly  []Entry `json:"allow_only"`
	Profile    string  `json:"profile"` // the profile that this file chooses; "" = none
}

// Profile is a named selection of skills.
type Profile struct {
	Include []Entry `json:"include"` // empty = all
	Exclude []Entry `json:"exclude"`
	Extends string  `json:"extends"` // "" = nothing
	From    From    `json:"from"`
}

// Switch changes one of the roots that deft knows.
type Switch struct {
	Enabled  *bool    `json:"enabled"`  // nil = as the table of roots says
	Priority *float64 `json:"priority"` // nil = as the table of roots says
	From     From     `json:"from"`
}

// Provider says how to reach one model provider.
type Provider struct {
	BaseURL string `json:"base_url"` // "" = the provider's own
	KeyEnv  string `json:"key_env"`  // the variable that holds the key; "" = the provider's own
	API     string `json:"api"`      // of OpenAI: chat or responses; "" = responses at the provider's own address, else chat
	From    From   `json:"from"`
}

// Scenarios says whether situations that a person wrote down count: scenarios.
type Scenarios struct {
	Enabled bool
	Model   bool // a model may choose where no keyword is in the request
}

// Config is what the files say, defaults included. It is a plain value; package
// cli lays environment and flags over it.
type Config struct {
	Tuning        Tuning // skills.walk, builtin, watch, refresh
	Sources       []SourceItem
	External      bool                // skills.external.enabled: read other agents' folders
	WalkUp        bool                // skills.external.walkUp
	DuplicateWarn bool                // skills.external.duplicateWarn
	Roots         map[string]Switch   // skills.external.sources, by root id
	Clients       []string            // skills.clients
	Plugins       []Plugin            // skills.plugins
	TrustProject  Trust               // skills.trust.project
	User, Project Lists               // skills.deny and the like, of the user's and of a trusted project's file
	Profiles      map[string]Profile  // skills.profiles
	AgentSkills   map[string][]string // agents.NAME.skills of MiniMax Code; without an entry an agent has all
	// Secrets are the variables that the person's own file binds to skills, skills.NAME.env,
	// by the skill's name or name@source, then by the variable's.
	Secrets map[string]map[string]Secret
	Network []string // skills.NAME.network: allow, by NAME or NAME@SOURCE
	// DB is where state is kept, as package store reads it; it may hold a password. Only the
	// person's own file says it. "" = a file of the state directory.
	DB string
	// Blobs is where the files of published versions are, as package blobs reads it. Only the
	// person's own file says it. "" = a folder of the data directory.
	Blobs       string
	Model       string // PROVIDER/NAME; "" = choose
	Models      map[string]Provider
	Permissions Permissions // rules for tools, of every file
	Policy      Policy
	Commands    Commands // sandbox, inline, hooks
	Web         Web      // web
	Scenarios   Scenarios
	Install     Install // install
	Scan        Scan    // scan
	Signing     Signing // trust
	Stats       bool    // stats: the use of skills is counted
	Placement   string  // placement: where tools run; "" = local
	Computer    string  // computer.backend: the same, in dialect minara
	Hooks       []HookList
	Content     bool     // telemetry.content: texts go into spans
	Servers     []Server // mcp.servers; those of a project's file wait for a person's approval
	// ProjectTrusted says that a person trusts the folder whose file was read. Of another
	// folder's file only what is stricter counts.
	ProjectTrusted bool

	from map[string]From
}

// New returns the defaults.
func New() *Config {
	return &Config{
		Tuning: defaultTuning(), Scan: defaultScan(), Stats: true, External: true, WalkUp: true, DuplicateWarn: true, TrustProject: TrustAsk,
		Roots: map[string]Switch{}, Profiles: map[string]Profile{}, Models: map[string]Provider{}, Secrets: map[string]map[string]Secret{}, from: map[string]From{},
	}
}

// From says where the value of a key came from; a key that nobody set has Default.
func (c *Config) From(key string) From {
	if f, ok := c.from[key]; ok {
		return f
	}
	return From{Level: Default}
}

// Mark notes that a caller has laid a value of its own over key.
func (c *Config) Mark(key string, f From) { c.from[key] = f }

// Setting is one key with its value and origin, for people and for JSON.
type Setting struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	From  From   `json:"from"`
}

// Settings returns every key with its value, in the order of the documentation.
func (c *Config) Settings() []Setting {
	values := []Setting{
		{Key: "skills.external.enabled", Value: c.External},
		{Key: "skills.external.walkUp", Value: c.WalkUp},
		{Key: "skills.external.duplicateWarn", Value: c.DuplicateWarn},
		{Key: "skills.external.sources", Value: c.Roots},
		{Key: "skills.sources", Value: orEmpty(c.Sources)},
		{Key: "skills.clients", Value: orEmpty(c.Clients)},
		{Key: "skills.plugins", Value: orEmpty(c.Plugins)},
		{Key: "skills.trust.project", Value: c.TrustProject},
		{Key: "skills.deny", Value: both(c, func(l *Lists) []Entry { return l.Deny })},
		{Key: "skills.default_off", Value: both(c, func(l *Lists) []Entry { return l.DefaultOff })},
		{Key: "skills.enable", Value: both(c, func(l *Lists) []Entry { return l.Enable })},
		{Key: "skills.allow_only", Value: both(c, func(l *Lists) []Entry { return l.AllowOnly })},
		{Key: "skills.profiles", Value: c.Profiles},
		{Key: "skills.NAME.env", Value: c.Secrets},
		{Key: "skills.NAME.network", Value: orEmpty(c.Network)},
		{Key: "skills.profile", Value: orElse(c.Project.Profile, c.User.Profile)},
		{Key: "db", Value: ""}, // package cli says these two without their passwords
		{Key: "blobs", Value: ""},
		{Key: "model", Value: c.Model},
		{Key: "models", Value: c.Models},
	}
	values = append(values, c.ruleSettings()...)
	values = append(values, Setting{Key: "hooks", Value: orEmpty(c.Hooks)}, Setting{Key: "mcp.servers", Value: orEmpty(c.Servers)},
		Setting{Key: "telemetry.content", Value: c.Content})
	values = append(append(values, c.Tuning.settings()...), c.Commands.settings()...)
	values = append(values, Setting{Key: "scenarios.enabled", Value: c.Scenarios.Enabled}, Setting{Key: "scenarios.model", Value: c.Scenarios.Model})
	values = append(values, Setting{Key: "placement", Value: c.Placement}, Setting{Key: "computer.backend", Value: c.Computer})
	values = append(values, Setting{Key: "web.private_hosts", Value: orEmpty(c.Web.PrivateHosts)})
	values = append(append(values, c.Install.settings()...), c.Scan.settings()...)
	values = append(values, c.Signing.settings()...)
	values = append(values, Setting{Key: "stats", Value: c.Stats})
	for i := range values {
		values[i].From = c.From(values[i].Key)
	}
	return values
}

// both joins the lists of the two files; each entry says whose it is.
func both(c *Config, of func(*Lists) []Entry) []Entry {
	return orEmpty(slices.Concat(of(&c.User), of(&c.Project)))
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// aliases are the older names of roots; a new name in the same file wins.
var aliases = map[string]string{"user-claude": "user-cc", "workspace-claude": "workspace-cc"}

// kinds are the kinds that a path form may name.
var kinds = []string{"managed", "project", "agent", "user", "plugin", "package"}

// trusts are the trusts that a person may give a source of their own.
var trusts = []string{"trusted", "workspace", "untrusted", "pending", "denied"}

// policies are what a person may say of the commands and hooks of a source; a project's
// file may only deny.
var policies = []string{"allow", "inherit", "deny"}

func oneOf(list []string) func(string) bool {
	return func(s string) bool { return slices.Contains(list, s) }
}
