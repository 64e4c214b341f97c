package main

import (
	"image/color"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// terminal is the colour scheme of a terminal.
type terminal struct {
	background, foreground color.RGBA
	sixteen                [16]color.RGBA
}

var dark = terminal{rgb(0x16191f), rgb(0xd7dae0), [16]color.RGBA{
	rgb(0x1e2127), rgb(0xe06c75), rgb(0x98c379), rgb(0xe5c07b), rgb(0x61afef), rgb(0xc678dd), rgb(0x56b6c2), rgb(0xabb2bf),
	rgb(0x5c6370), rgb(0xef7c85), rgb(0xa8d389), rgb(0xf5d08b), rgb(0x71bfff), rgb(0xd688ed), rgb(0x66c6d2), rgb(0xffffff)}}

var light = terminal{rgb(0xfafafa), rgb(0x383a42), [16]color.RGBA{
	rgb(0x383a42), rgb(0xca1243), rgb(0x3f8a3e), rgb(0x986801), rgb(0x4078f2), rgb(0xa626a4), rgb(0x0184bc), rgb(0xa0a1a7),
	rgb(0x4f525e), rgb(0xe45649), rgb(0x50a14f), rgb(0xc18401), rgb(0x528bff), rgb(0xb636b4), rgb(0x0997b3), rgb(0xffffff)}}

func rgb(n uint32) color.RGBA {
	return color.RGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 0xff}
}

// colours returns the colours of a cell.
func (t terminal) colours(s uv.Style) (ink, paper color.RGBA) {
	ink, paper = t.colour(s.Fg, t.foreground), t.colour(s.Bg, t.background)
	if s.Attrs&uv.AttrReverse != 0 {
		ink, paper = paper, ink
	}
	if s.Attrs&uv.AttrFaint != 0 {
		ink = blend(ink, paper, 9, 16)
	}
	return ink, paper
}

func (t terminal) colour(c color.Color, none color.RGBA) color.RGBA {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return t.sixteen[c&15]
	case ansi.IndexedColor:
		if c < 16 {
			return t.sixteen[c]
		}
	}
	r, g, b, _ := c.RGBA()
	return color.RGBA{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8), A: 0xff}
}

// blend mixes part/whole of one colour over another.
func blend(over, under color.RGBA, part, whole int) color.RGBA {
	mix := func(a, b uint8) uint8 { return uint8((int(a)*part + int(b)*(whole-part)) / whole) }
	return color.RGBA{R: mix(over.R, under.R), G: mix(over.G, under.G), B: mix(over.B, under.B), A: 0xff}
}
