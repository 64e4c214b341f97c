//go:build !linux && !(darwin && cgo)

package keys

// noKeyring says why this build of the program cannot use a keyring. It is empty if the build can use one.
const noKeyring = "this hermes-box was built without cgo, and cannot use the keychain of macOS"

func systemStore() system { return nil }
