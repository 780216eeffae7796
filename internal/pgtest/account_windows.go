package pgtest

import (
	"errors"
	"os/exec"
)

type account struct{}

func unprivileged() (*account, error) {
	return nil, errors.New("not covered: on Windows set DEFT_TEST_POSTGRES to the address of a server")
}

func (*account) own(string) error { return nil }

func (*account) take(*exec.Cmd) {}

func detach(*exec.Cmd) {}
