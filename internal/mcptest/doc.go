// Package mcptest holds servers of tools that tests start as real processes: one that
// works, built with the official SDK, and ones that break in every way that a client has
// to bear. It is no part of the product.
package mcptest
