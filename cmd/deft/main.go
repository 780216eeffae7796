// Command deft is the skills runtime for AI agents; see package internal/cli.
package main

func main() {}
