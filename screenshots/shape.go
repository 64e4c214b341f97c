package main

import (
	"image"
	"strings"
)

// pen is the thickness of a line in pixels.
const pen = 2

// arms are the lines from the middle of a cell: left, right, up, down.
var arms = map[rune]string{
	'─': "lr", '│': "ud", '┌': "rd", '┐': "ld", '└': "ru", '┘': "lu",
	'├': "udr", '┤': "udl", '┬': "lrd", '┴': "lru", '┼': "lrud",
	'╭': "rd", '╮': "ld", '╰': "ru", '╯': "lu",
}

// shape returns the rectangles of a line or a block, which terminals draw without the font, so that it joins its
// neighbours. It returns nil for any other glyph.
func shape(r rune) []image.Rectangle {
	const w, h, left, top = cellWidth, cellHeight, (cellWidth - pen) / 2, (cellHeight - pen) / 2
	switch {
	case r >= '▁' && r <= '█':
		return []image.Rectangle{image.Rect(0, h-h*int(r-'▁'+1)/8, w, h)}
	case r >= '▉' && r <= '▏':
		return []image.Rectangle{image.Rect(0, 0, w*int('▏'-r+1)/8, h)}
	}
	const bold = 2 * pen
	switch r {
	case '━':
		return []image.Rectangle{image.Rect(0, top-pen/2, w, top-pen/2+bold)}
	case '╾':
		return []image.Rectangle{image.Rect(0, top-pen/2, w/2, top-pen/2+bold), image.Rect(w/2, top, w, top+pen)}
	}
	var parts []image.Rectangle
	for _, arm := range strings.Split(arms[r], "") {
		switch arm {
		case "l":
			parts = append(parts, image.Rect(0, top, left+pen, top+pen))
		case "r":
			parts = append(parts, image.Rect(left, top, w, top+pen))
		case "u":
			parts = append(parts, image.Rect(left, 0, left+pen, top+pen))
		case "d":
			parts = append(parts, image.Rect(left, top, left+pen, h))
		}
	}
	return parts
}
