package main

import (
	"image"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/image/font/gofont/gomono"
)

func drawn(t *testing.T, cells ...uv.Cell) (image.Image, error) {
	t.Helper()
	face, err := parseFace(gomono.TTF)
	if err != nil {
		t.Fatal(err)
	}
	return (&typeface{face, face}).picture([][]uv.Cell{cells}, dark)
}

// middle returns the pixel in the middle of a cell.
func middle(img image.Image, column int) any {
	return img.At(padding+column*cellWidth+cellWidth/2, padding+cellHeight/2)
}

func TestPicture(t *testing.T) {
	img, err := drawn(t, uv.Cell{Content: "A", Width: 1}, uv.Cell{Content: "█", Width: 1, Style: uv.Style{Fg: ansi.Red}},
		uv.Cell{Content: " ", Width: 1, Style: uv.Style{Attrs: uv.AttrReverse}}, uv.Cell{Content: "█", Width: 1, Style: uv.Style{Attrs: uv.AttrFaint}})
	if err != nil {
		t.Fatal(err)
	}
	if w, h := img.Bounds().Dx(), img.Bounds().Dy(); w != 4*cellWidth+2*padding || h != cellHeight+2*padding {
		t.Errorf("%d by %d", w, h)
	}
	if _, ok := img.(*image.Paletted); !ok {
		t.Error("the picture has no palette")
	}
	for column, want := range map[int]any{1: dark.sixteen[1], 2: dark.foreground, 3: blend(dark.foreground, dark.background, 9, 16)} {
		if got := middle(img, column); got != want {
			t.Errorf("column %d is %v, want %v", column, got, want)
		}
	}
}

// Line glyphs of adjacent cells join without a gap.
func TestLineGlyphsJoin(t *testing.T) {
	img, err := drawn(t, uv.Cell{Content: "┌", Width: 1}, uv.Cell{Content: "─", Width: 1}, uv.Cell{Content: "╾", Width: 1}, uv.Cell{Content: "┐", Width: 1})
	if err != nil {
		t.Fatal(err)
	}
	for x := padding + cellWidth/2; x < padding+3*cellWidth+cellWidth/2; x++ {
		if img.At(x, padding+cellHeight/2) != dark.foreground {
			t.Fatalf("a gap at %d", x-padding)
		}
	}
}

func TestGlyphThatTheFontLacks(t *testing.T) {
	_, err := drawn(t, uv.Cell{Content: "a", Width: 1}, uv.Cell{Content: "▸", Width: 1})
	if err == nil || !strings.Contains(err.Error(), "column 2") || !strings.Contains(err.Error(), "U+25B8") {
		t.Error(err)
	}
}
