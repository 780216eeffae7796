// Command versitygw is the S3 gateway of that name over a folder, with the one backend that
// tests of this module need: the whole program takes half as long again to build.
//
//	versitygw posix DIR
//
// It takes what it needs from the variables of the whole program: ROOT_ACCESS_KEY and
// ROOT_SECRET_KEY, VGW_PORT (an address or the path of a socket), VGW_META_SIDECAR (a folder
// for what it knows of objects) and VGW_REGION.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if len(os.Args) != 3 || os.Args[1] != "posix" {
		fmt.Fprintln(os.Stderr, "usage: versitygw posix DIR")
		os.Exit(2)
	}
	if err := serve(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "versitygw:", err)
		os.Exit(1)
	}
}

func serve(dir string) error {
	aside := os.Getenv("VGW_META_SIDECAR")
	kept, err := meta.NewSideCar(aside)
	if err != nil {
		return err
	}
	options := posix.PosixOpts{SideCarDir: aside, Concurrency: 64}
	files, err := posix.New(dir, kept, options)
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(context.Background(), files, &embedgw.Config{
		RootUserAccess: os.Getenv("ROOT_ACCESS_KEY"), RootUserSecret: os.Getenv("ROOT_SECRET_KEY"), Region: os.Getenv("VGW_REGION"),
		Ports: []string{os.Getenv("VGW_PORT")}, MaxConnections: 1024, MaxRequests: 1024, MultipartMaxParts: 10000, Quiet: true, KeepAlive: true,
	})
}
