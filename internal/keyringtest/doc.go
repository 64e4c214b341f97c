//go:build !linux

// Package keyringtest is for tests on Linux.
package keyringtest
