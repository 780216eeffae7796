package catalog

import (
	"fmt"
	"strings"
)

// OptionError says that a render was asked for with a value that is not one of the
// accepted ones. Callers show it as a usage error; its code is catalog_bad_option.
type OptionError struct {
	Option   string // dialect, format, mode, unit or snapshot
	Value    string
	Accepted []string
}

// Code returns the code of the error table.
func (*OptionError) Code() string { return "catalog_bad_option" }

// Error names the option, the value and what is accepted.
func (e *OptionError) Error() string {
	if len(e.Accepted) == 0 {
		return fmt.Sprintf("catalog %s: missing", e.Option)
	}
	return fmt.Sprintf("catalog %s %q: not one of %s", e.Option, e.Value, strings.Join(e.Accepted, ", "))
}
