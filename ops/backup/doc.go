// Package backup keeps the backups of one box on the host, in a pool: a directory with
//
//	pool.key.age          the age identity of the pool, encrypted to the box's recipients
//	pool.passphrase.age   the same, encrypted with a passphrase; optional
//	recipients.json       the recipients in plaintext
//	chunks/ab/<id>.age    file contents: zstd in an age file for the pool's identity
//	<id>.age              a bundle: the manifest of one backup, and which chunks hold its files
//	<id>.json             its envelope, in plaintext
//	artifacts/            the artifacts that the locks of the backups name, by digest
//	tmp/                  files being written; tmp/<id>.json while a backup is being listed or deleted
//
// A bundle depends on chunks only, never on another bundle. It is written after all its chunks are durable, and its
// envelope is written after the backup was read back. A bundle without an envelope is listed as damaged, unless tmp/
// says that it is being listed or deleted; Verify makes the envelope again. One process at a time may change a pool:
// the caller holds the lock of the box. Reading needs no lock, except by Verify, which changes the envelope, and by
// VerifyArtifacts, which removes damaged artifacts.
package backup
