package frame

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFramesArriveAsTheyWereSent(t *testing.T) {
	frames := []struct {
		kind    Kind
		payload string
	}{
		{Request, `{"verb":"exec"}`}, {Stdin, "\x00\xff bytes"}, {Stdin, ""}, {End, ""}, {Stdout, strings.Repeat("x", MaxBytes)}, {Stderr, "e"},
		{Event, "{}"}, {Alive, ""}, {Result, strings.Repeat("r", MaxBytes+1)}, {Failure, "{}"}, {Exit, "\xff"},
	}
	var wire bytes.Buffer
	w := NewWriter(&wire)
	for _, f := range frames {
		if err := w.Write(f.kind, []byte(f.payload)); err != nil {
			t.Fatal(err)
		}
	}
	for name, in := range map[string]io.Reader{"at once": bytes.NewReader(wire.Bytes()), "byte by byte": iotest.OneByteReader(bytes.NewReader(wire.Bytes()))} {
		r := NewReader(in)
		for _, f := range frames {
			kind, payload, err := r.Next()
			if err != nil || kind != f.kind || string(payload) != f.payload {
				t.Fatalf("%s: got %q with %d bytes, %v; want %q with %d", name, byte(kind), len(payload), err, byte(f.kind), len(f.payload))
			}
		}
		if _, _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

func TestStreamIsCutIntoFrames(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 30_000)
	for name, send := range map[string]func(io.Writer) error{
		"Write":    func(w io.Writer) error { _, err := w.Write(data); return err },
		"ReadFrom": func(w io.Writer) error { _, err := io.Copy(w, iotest.HalfReader(bytes.NewReader(data))); return err },
	} {
		var wire, got bytes.Buffer
		if err := send(NewWriter(&wire).Stream(Stdout)); err != nil {
			t.Fatal(err)
		}
		for r := NewReader(&wire); ; {
			kind, payload, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || kind != Stdout {
				t.Fatalf("%s: %q, %v", name, byte(kind), err)
			}
			got.Write(payload)
		}
		if !bytes.Equal(got.Bytes(), data) {
			t.Errorf("%s: the %d bytes sent are not the %d bytes that arrived", name, len(data), got.Len())
		}
	}
}

func TestInvalidFramesAreRefused(t *testing.T) {
	for name, in := range map[string]string{
		"unknown kind":          "?\x00\x00\x00\x00",
		"too long":              "o\x00\x04\x00\x01",
		"an end with a payload": "n\x00\x00\x00\x01x",
		"a status of two bytes": "x\x00\x00\x00\x02xx",
		"cut in the head":       "o\x00\x00",
		"cut in the body":       "o\x00\x00\x00\x05four",
		"no body":               "o\x00\x00\x00\x05",
	} {
		_, _, err := NewReader(strings.NewReader(in)).Next()
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(name, "cut") && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := NewWriter(io.Discard)
	if w.Write('?', nil) == nil || w.Write(Exit, []byte("ab")) == nil || w.Write(Stdout, make([]byte, MaxBytes+1)) == nil {
		t.Error("an invalid frame was written")
	}
}

// FuzzReader checks that a reader returns frames within their limits or an error, whatever bytes arrive. Writing these
// frames again gives the same bytes.
func FuzzReader(f *testing.F) {
	f.Add([]byte("o\x00\x00\x00\x05helloa\x00\x00\x00\x00x\x00\x00\x00\x01\x07"))
	f.Add([]byte("r\x00\xff\xff\xff{"))
	f.Add([]byte("q\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		var again bytes.Buffer
		r, w := NewReader(bytes.NewReader(wire)), NewWriter(&again)
		for {
			kind, payload, err := r.Next()
			if err != nil {
				break
			}
			if err := w.Write(kind, payload); err != nil {
				t.Fatalf("a frame that was read cannot be sent: %v", err)
			}
		}
		if !bytes.HasPrefix(wire, again.Bytes()) {
			t.Fatalf("%q was read as %q", wire, again.Bytes())
		}
	})
}
