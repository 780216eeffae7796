package source

// Policy says whether skills of a source may bring something that runs: inline
// commands, hooks. It lets nothing run by itself: trust, grants and the gate still have
// to allow it.
type Policy uint8

// The policies. A source that says nothing has that of its kind.
const (
	PolicyOfKind  Policy = iota
	PolicyAllow          // as the skill asks
	PolicyInherit        // as the host says for sources of this trust
	PolicyDeny           // never
)

// String returns allow, inherit or deny; "" for PolicyOfKind.
func (p Policy) String() string {
	return [...]string{"", "allow", "inherit", "deny"}[p&3]
}

// DefaultPolicy returns the policy of a kind, for commands and for hooks: what a person
// or the program put there may, what is shared follows the host, and what comes over a
// network or out of a request never does.
func DefaultPolicy(k Kind) Policy {
	switch k {
	case Managed, User, Builtin, Global:
		return PolicyAllow
	case MCP, DataDef:
		return PolicyDeny
	}
	return PolicyInherit
}

// ShellPolicy returns the policy for inline commands.
func (i Info) ShellPolicy() Policy { return i.Shell.or(i.Kind) }

// HooksPolicy returns the policy for hooks.
func (i Info) HooksPolicy() Policy { return i.Hooks.or(i.Kind) }

func (p Policy) or(k Kind) Policy {
	if p == PolicyOfKind {
		return DefaultPolicy(k)
	}
	return p
}

// WithPolicies returns src with other policies for commands and hooks; PolicyOfKind
// leaves what the source says.
func WithPolicies(src Source, shell, hooks Policy) Source {
	return changed(src, func(i *Info) {
		if shell != PolicyOfKind {
			i.Shell = shell
		}
		if hooks != PolicyOfKind {
			i.Hooks = hooks
		}
	})
}
