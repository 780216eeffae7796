package s3test

import "os/exec"

func detach(*exec.Cmd) {}
