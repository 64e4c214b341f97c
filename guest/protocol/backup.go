package protocol

// How writes to the data disk were kept out of the copy.
const (
	BySnapshot = "snapshot" // a block snapshot: programs could write meanwhile
	ByFreeze   = "freeze"   // frozen for the whole copy: programs could not write
)

// BackupRequest is the request of VerbBackup.
type BackupRequest struct {
	Freeze string `json:"freeze,omitempty"` // why no snapshot is to be made; empty: a snapshot is tried first
	// Hold freezes the data disk and keeps it frozen after the copy, until the host ends the call. After the last byte of
	// the stream comes an event of the phase PhaseHeld. If the host does not end the call in time, the call fails.
	Hold bool `json:"hold,omitempty"`
}

// PhaseHeld is the phase of a backup whose stream is complete, while the data disk stays frozen.
const PhaseHeld = "held"

// SnapshotFull is the code of the error for a backup whose snapshot had no more room. The stream is then invalid.
const SnapshotFull = "snapshot_full"

// DataFull is the code of the error for a restore whose files do not fit on the data disk.
const DataFull = "data_full"

// BackedUp answers VerbBackup. The backup itself is the stream of package tree on stdout.
type BackedUp struct {
	Method string `json:"method"`
	Note   string `json:"note,omitempty"` // why it is not a snapshot
	Frozen int64  `json:"frozen"`         // milliseconds for which programs could not write, at most
}

// Unpacked answers VerbUnpack.
type Unpacked struct {
	Entries int        `json:"entries"`
	Bytes   int64      `json:"bytes"`
	Lost    []LostPart `json:"lost,omitempty"` // what could not be restored
}

// LostPart is an attribute of a file that could not be restored, or a whiteout of an overlay that could not be made.
type LostPart struct {
	Path []byte `json:"path"`
	Part string `json:"part"` // with the reason
}
