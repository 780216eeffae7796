package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
)

// shells are the shells that completion knows.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func completionVerb() verb {
	return verb{
		name: "completion", args: "bash|zsh|fish|powershell", min: 1, max: 1, group: groupHouse,
		short: "completion script for a shell, with the names of skills", joins: true,
		long: "Load it once, as in: source <(deft completion bash)",
		run:  func(_ context.Context, r *run, args []string) error { return r.completion(args[0]) },
	}
}

func (r *run) completion(shell string) error {
	if !slices.Contains(shells, shell) {
		return usage("shell %q is not known", shell).hinted("hint.one_of", strings.Join(shells, ", "))
	}
	var err error
	switch shell {
	case "bash":
		err = r.root.GenBashCompletionV2(r.out, true)
	case "zsh":
		err = r.root.GenZshCompletion(r.out)
	case "fish":
		err = r.root.GenFishCompletion(r.out, true)
	case "powershell":
		err = r.root.GenPowerShellCompletionWithDesc(r.out)
	}
	return err
}

func manVerb() verb {
	return verb{
		name: "man", short: "the manual page, as roff",
		run: func(_ context.Context, r *run, _ []string) error {
			page, err := mango.NewManPage(1, r.root)
			if err != nil {
				return fmt.Errorf("manual page: %w", err)
			}
			r.out.Bytes([]byte(page.Build(roff.NewDocument())))
			return nil
		},
	}
}
