// Command kitlist is the least program that lists skills with the Agent Development
// Kit: the header of every skill of one directory, as JSON on standard output. Whole
// processes of deft are measured beside it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"google.golang.org/adk/v2/tool/skilltoolset/skill"
)

func main() {
	if err := list(); err != nil {
		fmt.Fprintln(os.Stderr, "kitlist:", err)
		os.Exit(1)
	}
}

func list() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: kitlist DIRECTORY")
	}
	all, err := skill.NewFileSystemSource(os.DirFS(os.Args[1])).ListFrontmatters(context.Background())
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}
